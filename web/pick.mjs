// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Which entity of the server is meant by a place on the map. A client knows ghosts by numbers of its
// own, so the server is asked what is there; what the client does not know is found only when the
// truth is shown.

const LAG_M = 3;  // how far anything gets between what is drawn and what the server answers

const distance = (a, b) => Math.hypot(a.x - b.x, a.y - b.y);

/** All entities around a place, nearest first: EntityAt[] of operator.d.mts. */
export async function entitiesAt(channel, place, radius) {
  const answer = await channel.ask({ op: "at", x: place.x, y: place.y, radius_m: radius });
  if (answer.op !== "at") throw new Error(answer.text ?? "the server does not say what is there");
  return answer.entities;
}

/**
 * The entity at a place, or null. `ghosts`: [{x, y, kind}] as drawn, kinds by name; with
 * `truth` whatever is there counts, without it only what is a ghost.
 */
export async function pick(channel, place, radius, ghosts, truth) {
  const ghost = nearest(ghosts, place, radius);
  const other = truth ? (await entitiesAt(channel, place, radius))[0] ?? null : null;
  if (ghost === null || (other !== null && distance(other, place) < distance(ghost, place))) return other;
  const around = await entitiesAt(channel, ghost, LAG_M);
  return around.find((entity) => entity.kind === ghost.kind) ?? other;
}

/** At most `count` entities around a place that may be picked, nearest first. */
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
