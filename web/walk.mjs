// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Keys, clicks and the pointer as what the player wants: to walk, to drive, to shoot; nothing that a
// panel's fields need. Without a pilot, commands of the vale.

const DIRECTIONS = { KeyW: [0, -1], ArrowUp: [0, -1], KeyS: [0, 1], ArrowDown: [0, 1], KeyA: [-1, 0], ArrowLeft: [-1, 0], KeyD: [1, 0], ArrowRight: [1, 0] };
const COMMANDS = { walk: 1, go: 2, cloak: 3, board: 5 };
/** Near enough to where one wanted to go. */
const ARRIVED_M = 0.3;

/** Whether the focused control has a use of its own for this key. */
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
  #cloaked = false;
  #goal = null;

  /** `drawn`: of the scene, where the own player is. */
  constructor(client, pilot, drawn) {
    this.#client = client;
    this.#pilot = pilot;
    this.#drawn = drawn;
    addEventListener("keydown", (event) => this.#down(event));
    addEventListener("keyup", (event) => this.#up(event.code));
    addEventListener("blur", () => { for (const key of [...this.#keys, "Space"]) this.#up(key); });
    document.addEventListener("visibilitychange", () => { if (document.hidden) this.stop(); });
    client.on("state", (state) => {
      if (state === "joined") this.#cloaked = false;  // a new player
      else this.stop();
    });
  }

  /** Stands still, wherever it was going: nobody sees it arrive. */
  stop() {
    this.#goal = null;
    this.#keys.clear();
    this.fires = false;
    this.#say();
  }

  /** Walks there; a driver does not. */
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

  /** The gun points there. */
  aimAt({ x, y }) { [this.#pilot.controls.targetX, this.#pilot.controls.targetY] = [x, y]; }

  set fires(value) { this.#pilot.controls.fires = value; }

  board() { this.#client.sendCommand(Uint8Array.of(COMMANDS.board)); }

  /** Every frame: on the way to where one clicked. */
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
    if (event.code === "KeyC" && !event.repeat) {
      this.#cloaked = !this.#cloaked;
      this.#client.sendCommand(Uint8Array.of(COMMANDS.cloak, this.#cloaked ? 1 : 0));
    }
    if (event.code === "KeyE" && !event.repeat) this.board();
    if (event.code === "Space") {
      event.preventDefault();
      this.fires = true;
    }
    if (!(event.code in DIRECTIONS)) return;
    event.preventDefault();
    this.#goal = null;
    if (!this.#keys.has(event.code)) {
      this.#keys.add(event.code);
      this.#say();
    }
  }

  #up(code) {
    if (code === "Space") this.fires = false;
    if (this.#keys.delete(code)) this.#say();
  }

  #say() {
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
