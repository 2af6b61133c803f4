// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Finds the server's entity for a position on the map. Ghost ids are local to the client, so this queries the server
// for the entities there. Entities that the client does not have are found only if the truth (the
// server's complete world) is shown.

const LAG_M = 3;  // maximum movement between drawing and the server's reply

const distance = (a, b) => Math.hypot(a.x - b.x, a.y - b.y);

/** All entities around a position, nearest first: EntityAt[] of operator.d.mts. */
export async function entitiesAt(channel, place, radius) {
  const answer = await channel.ask({ op: "at", x: place.x, y: place.y, radius_m: radius });
  if (answer.op !== "at") throw new Error(answer.text ?? "the server sent no entities for this position");
  return answer.entities;
}

/**
 * The entity at a position, or null. `ghosts`: [{x, y, kind}] as drawn, kinds by name. With `truth` all entities
 * count, otherwise only those with a ghost.
 */
export async function pick(channel, place, radius, ghosts, truth) {
  const ghost = nearest(ghosts, place, radius);
  const other = truth ? (await entitiesAt(channel, place, radius))[0] ?? null : null;
  if (ghost === null || (other !== null && distance(other, place) < distance(ghost, place))) return other;
  const around = await entitiesAt(channel, ghost, LAG_M);
  return around.find((entity) => entity.kind === ghost.kind) ?? other;
}

/** At most `count` selectable entities around a position, nearest first. */
export async function pickable(channel, place, radius, ghosts, truth, count) {
  const found = await entitiesAt(channel, place, radius);
  const known = new Set(ghosts.map((ghost) => nearest(found.filter((entity) => entity.kind === ghost.kind), ghost, LAG_M)));
  return found.filter((entity) => truth || known.has(entity)).slice(0, count);
}

function nearest(things, place, radius) {
  let best = null;
  for (const thing of things) {
    const away = distance(thing, place);
    if (away <= radius && (best === null || away < distance(best, place))) best = thing;
  }
  return best;
}
