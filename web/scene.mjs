// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Draws one frame of the map: what this client received and, below it and faded, what the server withholds, if known.
import { INSTANCE, INSTANCE_WORDS, NO_GHOST } from "./client.mjs";
import { spriteAt } from "./kinds.mjs";
import { SpriteBatch, TONE } from "./sprite_layer.mjs";
import { SHAPE } from "./view.mjs";
import { withheldOf } from "./withheld.mjs";

const WAIT_TICKS_MAX = 20;  // a truth frame that is further ahead of the displayed tick is shown at once

export class Scene {
  /**
   * The last frame: {instances, packet, tick, frames, own: {x, y, team, cloaked}, ghosts: [{x, y, id, parent, kind by
   * name}], withheld}. `withheld`: number of entities of the truth that this client does not have, or null.
   */
  drawn = { instances: 0, packet: 0, tick: 0, frames: 0, own: null, ghosts: [], withheld: null };
  #client;
  #view;
  #styles;
  #pilot;
  #schema = null;
  #fields = {};
  #truth = null;    // the newest truth frame, until its tick is displayed
  #withheld = null;
  #pale = new SpriteBatch();
  #vivid = new SpriteBatch();

  constructor(client, view, styles, pilot) {
    this.#client = client;
    this.#view = view;
    this.#styles = styles;
    this.#pilot = pilot;
  }

  /** A truth frame (the server's complete world) of the operator channel; null: there is none. */
  set truth(frame) {
    if (frame === null) this.#withheld = this.#truth = null;
    else this.#truth ??= frame;
  }

  /** The entities that the server withholds, as last displayed: Withheld[] of withheld.mjs. */
  get withheld() { return this.#withheld ?? []; }

  /** `radii`: circles around the own player, [{enter, leave}]. */
  draw(now, radii) {
    const [client, view, drawn] = [this.#client, this.#view, this.drawn];
    if (client.schema !== this.#schema) this.#findFields(client.schema);
    const tick = client.viewTick(now);
    const ghosts = this.#collect(tick);
    const packet = client.newestPacket;
    const { ownGhost } = this.#pilot.state;
    const own = ghosts.find((ghost) => ghost.id === ownGhost) ?? ghosts.find((ghost) => ghost.owned) ?? null;
    this.#lookAt(own, ghosts);
    this.#takeTruth(tick, ghosts);
    const widest = radii.reduce((best, radius) => (best === null || radius.leave > best.leave ? radius : best), null);
    view.begin(own && widest && { x: own.x, y: own.y, enter: widest.enter, leave: widest.leave });
    if (this.#withheld !== null) view.drawSprites("truth", this.#pale);
    if (own !== null) {
      this.#drawCircles(own, radii);
      this.#drawOwnMark(own);
    }
    drawn.instances = this.#drawGhosts(ghosts);
    drawn.packet = packet;
    drawn.own = own && { x: own.x, y: own.y, ...this.#lookOf(ghosts.find((ghost) => ghost.owned && ghost.style.hasTeam)) };
    drawn.ghosts = ghosts;
    drawn.withheld = this.#withheld?.length ?? null;
    drawn.tick = client.newestTick;
    ++drawn.frames;
  }

  #collect(tick) {
    const { count, floats, words } = this.#client.collect(tick);
    this.#pilot.place(count);
    const list = new Array(count);
    for (let i = 0; i < count; ++i) {
      const at = i * INSTANCE_WORDS;
      // Cargo is drawn around its carrier.
      const number = words[at + INSTANCE.kind];
      const style = this.#styles.of(number);
      const parent = words[at + INSTANCE.parent];
      const offset = parent !== NO_GHOST && !style.inMiddle ? 0.9 : 0;
      list[i] = { x: floats[at + INSTANCE.x] + offset * Math.cos(i), y: floats[at + INSTANCE.y] + offset * Math.sin(i),
                  id: words[at + INSTANCE.ghost], parent, kind: style.name, number, style, owned: words[at + INSTANCE.owned] === 1 };
    }
    return list;
  }

  #lookAt(own, ghosts) {
    const center = this.#view.center;
    if (own !== null) {
      this.#view.center = { x: own.x, y: own.y };
    } else if (ghosts.length > 0 && this.#client.state === "joined") {
      // A spectator or a rider: centers on the known ghosts.
      const mean = ghosts.reduce((sum, g) => ({ x: sum.x + g.x / ghosts.length, y: sum.y + g.y / ghosts.length }), { x: 0, y: 0 });
      center.x += (mean.x - center.x) * 0.05;
      center.y += (mean.y - center.y) * 0.05;
    }
  }

  /** Displays the truth of a tick together with the ghosts of that tick. */
  #takeTruth(tick, ghosts) {
    const frame = this.#truth;
    if (frame === null || (frame.tick > tick && frame.tick < tick + WAIT_TICKS_MAX)) return;
    this.#truth = null;
    this.#withheld = withheldOf(frame, ghosts.map(({ x, y, number, owned }) => ({ x, y, kind: number, owned })));
    this.#withheld.sort((a, b) => a.y - b.y);
    this.#pale.clear();
    for (const { x, y, kind, hidden } of this.#withheld) {
      const style = this.#styles.of(kind);
      this.#pale.add(x, y, spriteAt(style, x, y, 0), 0, hidden ? TONE.hidden : TONE.pale);
    }
  }

  #drawCircles(own, radii) {
    const [r, g, b] = this.#view.palette.circle;
    for (const radius of radii) {
      this.#view.drawCircle(own.x, own.y, radius.enter, [r, g, b, 0.95], 2);
      this.#view.drawCircle(own.x, own.y, radius.leave, [r, g, b, 0.8], 1.5, 6);
    }
  }

  #drawOwnMark(own) {
    this.#view.drawMarks("marker", 2, (write) => {
      const size = this.#view.markSize(5, 26);
      write(own.x, own.y, size, SHAPE.disc, ...this.#view.palette.own, 0.3);
      write(own.x, own.y, size, SHAPE.ring, ...this.#view.palette.own, 0.95);
    });
  }

  /** Draws ghosts from the upper to the lower edge, and members of groups last. Returns the number of sprites. */
  #drawGhosts(ghosts) {
    const batch = this.#vivid;
    batch.clear();
    const isRider = (ghost) => ghost.parent !== NO_GHOST;
    for (const ghost of [...ghosts].sort((a, b) => isRider(a) - isRider(b) || a.y - b.y)) {
      const { x, y, style } = ghost;
      const team = style.hasTeam ? this.#read(ghost, "team") : 0;
      const isCloaked = style.moves && this.#read(ghost, "cloaked") !== 0;
      batch.add(x, y, spriteAt(style, x, y, team), style.moves ? this.#angleOf(ghost) : 0, TONE.full, isCloaked ? 0.5 : 1);
    }
    return this.#view.drawSprites("ghosts", batch);
  }

  /** Returns the angle of a ghost that is seen from above. For others: 1 if it faces left and is mirrored, else 0. */
  #angleOf(ghost) {
    if (ghost.kind === "cart") return this.#read(ghost, "heading");
    const facing = this.#read(ghost, "facing");
    return ghost.style.turns ? facing : Number(Math.cos(facing) < 0);
  }

  /** Returns a field of the vale by its name; 0 if the ghost has none. */
  #read(ghost, name) {
    const place = this.#fields[name];
    return place === undefined ? 0 : this.#client.value(ghost.id, place.component, place.field);
  }

  /** Team and cloak of the own player, who may sit in a cart. */
  #lookOf(player) {
    return player === undefined ? { team: 0, cloaked: false } : { team: this.#read(player, "team"), cloaked: this.#read(player, "cloaked") !== 0 };
  }

  #findFields(schema) {
    this.#schema = schema;
    this.#fields = {};
    for (const [componentName, names] of [["body", ["team", "cloaked", "facing"]], ["engine", ["heading"]]]) {
      const component = schema.components.findIndex((one) => one.name === componentName);
      for (const name of names) {
        const field = schema.components[component]?.fields.indexOf(name) ?? -1;
        if (field >= 0) this.#fields[name] = { component, field };
      }
    }
  }
}
