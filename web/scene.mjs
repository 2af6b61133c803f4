// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// One frame of the map: what this client holds and nothing else, and, when there is one, the server's
// truth underneath.
import { INSTANCE, INSTANCE_WORDS, NO_GHOST } from "./client.mjs";
import { TEAM_RGB } from "./kinds.mjs";
import { SHAPE } from "./view.mjs";

export class Scene {
  /** What was drawn last: {instances, packet, tick, frames, own, ghosts: [{x, y, id, parent, kind by name}]}. */
  drawn = { instances: 0, packet: 0, tick: 0, frames: 0, own: null, ghosts: [] };
  /** A frame of the operator channel, or null. */
  truth = null;
  #client;
  #view;
  #styles;
  #pilot;
  #schema = null;
  #fields = { component: -1, team: -1, cloaked: -1 };

  constructor(client, view, styles, pilot) {
    this.#client = client;
    this.#view = view;
    this.#styles = styles;
    this.#pilot = pilot;
  }

  /** `radii`: circles around the own player, [{enter, leave}]. */
  draw(now, radii) {
    const [client, view, drawn] = [this.#client, this.#view, this.drawn];
    if (client.schema !== this.#schema) this.#findFields(client.schema);
    const ghosts = this.#collect(now);
    const packet = client.newestPacket;
    const { ownGhost } = this.#pilot.state;
    const own = ghosts.find((ghost) => ghost.id === ownGhost) ?? ghosts.find((ghost) => ghost.owned) ?? null;
    this.#lookAt(own, ghosts);
    view.begin();
    if (this.truth !== null) this.#drawTruth(this.truth);
    drawn.instances = view.drawInstances("ghosts", ghosts.length, (write) => {
      for (const ghost of ghosts) this.#drawGhost(ghost, write);
    });
    drawn.packet = packet;
    drawn.own = own && { x: own.x, y: own.y };
    drawn.ghosts = ghosts;
    drawn.tick = client.newestTick;
    ++drawn.frames;
    if (own === null) return;
    for (const radius of radii) {
      view.drawCircle(own.x, own.y, radius.enter, [0.37, 0.78, 0.9, 0.8]);
      view.drawCircle(own.x, own.y, radius.leave, [0.37, 0.78, 0.9, 0.25]);
    }
    view.drawInstances("marker", 1, (write) => write(own.x, own.y, view.markSize(2.6, 45), SHAPE.ring, 1, 1, 1, 0.9));
  }

  #collect(now) {
    const { count, floats, words } = this.#client.collect(this.#client.viewTick(now));
    this.#pilot.place(count);
    const list = new Array(count);
    for (let i = 0; i < count; ++i) {
      const at = i * INSTANCE_WORDS;
      // Cargo lies around what carries it.
      const style = this.#styles.of(words[at + INSTANCE.kind]);
      const parent = words[at + INSTANCE.parent];
      const offset = parent !== NO_GHOST && !style.inMiddle ? 0.9 : 0;
      list[i] = { x: floats[at + INSTANCE.x] + offset * Math.cos(i), y: floats[at + INSTANCE.y] + offset * Math.sin(i),
                  id: words[at + INSTANCE.ghost], parent, kind: style.name, style, owned: words[at + INSTANCE.owned] === 1 };
    }
    return list;
  }

  #lookAt(own, ghosts) {
    const centre = this.#view.centre;
    if (own !== null) {
      this.#view.centre = { x: own.x, y: own.y };
    } else if (ghosts.length > 0 && this.#client.state === "joined") {
      // A spectator or a rider: look at the middle of what is known.
      const mean = ghosts.reduce((sum, g) => ({ x: sum.x + g.x / ghosts.length, y: sum.y + g.y / ghosts.length }), { x: 0, y: 0 });
      centre.x += (mean.x - centre.x) * 0.05;
      centre.y += (mean.y - centre.y) * 0.05;
    }
  }

  #drawGhost({ x, y, id, style }, write) {
    const { component, team: teamField, cloaked } = this.#fields;
    const read = (field) => (style.team && component >= 0 && field >= 0 ? this.#client.value(id, component, field) : 0);
    const team = read(teamField);
    const hidden = read(cloaked) !== 0;
    const [r, g, b] = style.team ? TEAM_RGB[team % TEAM_RGB.length] : style.rgb;
    write(x, y, style.size, style.shape, r, g, b, hidden ? 0.45 : 1);
  }

  #drawTruth(frame) {
    const size = this.#view.markSize(1.2, 130);
    this.#view.drawInstances("truth", frame.count, (write) => {
      for (let i = 0; i < frame.count; ++i) {
        const hidden = (frame.words[i * 6 + 5] & 1) !== 0;
        const [r, g, b] = hidden ? [1, 0.3, 0.38] : [0.72, 0.82, 0.9];
        write(frame.floats[i * 3], frame.floats[i * 3 + 1], size, SHAPE.ring, r, g, b, hidden ? 0.75 : 0.4);
      }
    });
  }

  #findFields(schema) {
    this.#schema = schema;
    const component = schema.components.findIndex((c) => c.name === "body");
    const { fields } = schema.components[component] ?? { fields: [] };
    this.#fields = { component, team: fields.indexOf("team"), cloaked: fields.indexOf("cloaked") };
  }
}
