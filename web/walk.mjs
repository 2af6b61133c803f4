// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Converts keys, clicks and the pointer to walking, driving and shooting. Ignores keys that a focused control needs.
// Without a pilot, sends the commands of games/vale.

const DIRECTIONS = { KeyW: [0, -1], ArrowUp: [0, -1], KeyS: [0, 1], ArrowDown: [0, 1], KeyA: [-1, 0], ArrowLeft: [-1, 0], KeyD: [1, 0], ArrowRight: [1, 0] };
const COMMANDS = { walk: 1, go: 2, cloak: 3, board: 5 };
/** Distance at which a walk to a target ends. */
const ARRIVED_M = 0.3;

/** Whether the focused control uses this key. */
function isWanted(target, code) {
  if (!(target instanceof Element)) return false;
  if (target.matches("textarea, select, input:not([type=checkbox]):not([type=range])")) return true;
  if (code === "Space") return target.matches("button, input");
  return code.startsWith("Arrow") && target.matches("input[type=range], [role=tab]");
}

export class Walk {
  #client;
  #pilot;
  #drawn;
  #keys = new Set();
  #cloaked = null;  // as last commanded; null: as the server has it
  #goal = null;

  /** `drawn`: the scene's last frame, with the position of the own player. */
  constructor(client, pilot, drawn) {
    this.#client = client;
    this.#pilot = pilot;
    this.#drawn = drawn;
    addEventListener("keydown", (event) => this.#down(event));
    addEventListener("keyup", (event) => this.release(event.code));
    addEventListener("blur", () => { for (const key of [...this.#keys, "Space"]) this.release(key); });
    document.addEventListener("visibilitychange", () => { if (document.hidden) this.stop(); });
    client.on("state", (state) => {
      if (state === "joined") this.#cloaked = null;  // a new player
      else this.stop();
    });
  }

  /** Stops walking and firing. Used when the page is hidden or not joined, because follow() is not called then. */
  stop() {
    this.#goal = null;
    this.#keys.clear();
    this.fires = false;
    this.#steer();
  }

  /** Walks to the position; no effect while driving. */
  to({ x, y }) {
    if (this.#pilot.isReady) {
      this.#goal = this.#pilot.isDriving ? null : { x, y };
      return;
    }
    const command = new DataView(new ArrayBuffer(9));
    command.setUint8(0, COMMANDS.go);
    command.setFloat32(1, x, true);
    command.setFloat32(5, y, true);
    this.#client.sendCommand(new Uint8Array(command.buffer));
  }

  /** Aims the gun at the position. */
  aimAt({ x, y }) { [this.#pilot.controls.targetX, this.#pilot.controls.targetY] = [x, y]; }

  set fires(value) { this.#pilot.controls.fires = value; }

  get isCloaked() { return this.#cloaked ?? this.#drawn.own?.cloaked ?? false; }

  /** Puts the cloak on or off. */
  cloak() {
    this.#cloaked = !this.isCloaked;
    this.#client.sendCommand(Uint8Array.of(COMMANDS.cloak, this.#cloaked ? 1 : 0));
  }

  board() { this.#client.sendCommand(Uint8Array.of(COMMANDS.board)); }

  /** Call every frame: steers toward the clicked position. */
  follow() {
    const own = this.#drawn.own;
    if (this.#goal === null || own === null || this.#keys.size > 0) return;
    const [dx, dy] = [this.#goal.x - own.x, this.#goal.y - own.y];
    const away = Math.hypot(dx, dy);
    if (away < ARRIVED_M) this.#goal = null;
    this.#pilot.controls.walkX = this.#goal === null ? 0 : dx / away;
    this.#pilot.controls.walkY = this.#goal === null ? 0 : dy / away;
  }

  #down(event) {
    if (isWanted(event.target, event.code) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.code === "KeyC" && !event.repeat) this.cloak();
    if (event.code === "KeyE" && !event.repeat) this.board();
    if (event.code === "Space") {
      event.preventDefault();
      this.fires = true;
    }
    if (!(event.code in DIRECTIONS)) return;
    event.preventDefault();
    this.press(event.code);
  }

  /** Starts a direction. `code`: a key of DIRECTIONS, such as "KeyW". */
  press(code) {
    this.#goal = null;
    if (this.#keys.has(code)) return;
    this.#keys.add(code);
    this.#steer();
  }

  /** Ends a direction. "Space": ends firing. */
  release(code) {
    if (code === "Space") this.fires = false;
    if (this.#keys.delete(code)) this.#steer();
  }

  #steer() {
    let [x, y] = [0, 0];
    for (const key of this.#keys) {
      x += DIRECTIONS[key][0];
      y += DIRECTIONS[key][1];
    }
    const length = Math.hypot(x, y) || 1;
    const { controls } = this.#pilot;
    [controls.walkX, controls.walkY] = [x / length, y / length];
    [controls.throttle, controls.steering] = [-y, x];
    if (!this.#pilot.isReady) this.#client.sendCommand(Uint8Array.of(COMMANDS.walk, x / length * 127, y / length * 127));
  }
}
