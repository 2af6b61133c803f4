// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Walking, driving and shooting of the player, predicted by the same C++ code as on the server:
// games/vale/vale_client.h. Needs a client made from vale_client.wasm.
import { NO_GHOST } from "./client.mjs";

const STATE = ["corrections", "invisible", "replayed", "largestErrorM", "lastErrorM", "starved", "waiting", "rate",
               "ownGhost", "cart", "speedMps", "heading", "targetX", "targetY", "cooldown", "rounds", "newestCommand"];

export class Pilot {
  /** The player's input: walking direction, pedals and wheel, gun. */
  controls = { walkX: 0, walkY: 0, throttle: 0, steering: 0, targetX: 0, targetY: 0, fires: false };
  #client;
  #handle = 0;
  #predicts = true;
  #ground;

  /** `ground`: blocked tiles from world.json, or null. */
  constructor(client, ground) {
    this.#client = client;
    this.#ground = ground;
    client.on("state", (state) => { if (state !== "joined") this.#end(); });
    client.on("turn", () => this.#turn());
  }

  get predicts() { return this.#predicts; }
  set predicts(value) {
    this.#predicts = value;
    this.#end();
  }

  /** True if a pilot exists: joined, and the world is a vale. */
  get isReady() { return this.#handle !== 0; }
  get isDriving() { return this.state.cart !== NO_GHOST; }

  /** Statistics of the prediction, and state of the cart and the gun. */
  get state() {
    if (this.#handle === 0) return { ...Object.fromEntries(STATE.map((name) => [name, 0])), ownGhost: NO_GHOST, cart: NO_GHOST, rate: 1 };
    const { exports } = this.#client.native;
    const values = new Float64Array(exports.memory.buffer, exports.vale_pilot_look(this.#handle), STATE.length);
    return Object.fromEntries(STATE.map((name, i) => [name, values[i]]));
  }

  /** Moves the instances of the last `collect` to their predicted positions. */
  place(count) {
    const { exports, handle } = this.#client.native;
    if (this.#handle !== 0) exports.vale_pilot_position(this.#handle, handle, count, performance.now());
  }

  #turn() {
    const { exports, handle } = this.#client.native;
    if (this.#client.state !== "joined" || exports.vale_pilot_create === undefined) return;
    if (this.#handle === 0) this.#begin(exports, handle);
    const { walkX, walkY, throttle, steering, targetX, targetY, fires } = this.controls;
    exports.vale_pilot_turn(this.#handle, performance.now(), walkX, walkY, throttle, steering, targetX, targetY, fires ? 1 : 0);
  }

  #begin(exports, handle) {
    this.#handle = exports.vale_pilot_create(handle, this.#predicts ? 1 : 0);
    if (this.#handle === 0 || this.#ground === null) return;
    const { width, height, tile_m, blocked } = this.#ground;
    const at = exports.vale_pilot_room(this.#handle, width * height);
    if (at === 0) return;
    new Uint8Array(exports.memory.buffer, at, width * height).set(Uint8Array.from(blocked, Number));
    exports.vale_pilot_ground(this.#handle, width, height, tile_m, at);
  }

  #end() {
    if (this.#handle !== 0) this.#client.native.exports.vale_pilot_destroy(this.#handle);
    this.#handle = 0;
  }
}
