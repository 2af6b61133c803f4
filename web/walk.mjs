// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Keys and clicks that move the player: commands of the vale, nothing that a panel's fields need.

const DIRECTIONS = { KeyW: [0, -1], ArrowUp: [0, -1], KeyS: [0, 1], ArrowDown: [0, 1], KeyA: [-1, 0], ArrowLeft: [-1, 0], KeyD: [1, 0], ArrowRight: [1, 0] };

/** Whether the focused control has a use of its own for this key. */
function isWanted(target, code) {
  if (!(target instanceof Element)) return false;
  if (target.matches("textarea, select, input:not([type=checkbox]):not([type=range])")) return true;
  return code.startsWith("Arrow") && target.matches("input[type=range], [role=tab]");
}

export class Walk {
  #client;
  #keys = new Set();
  #cloaked = false;

  constructor(client) {
    this.#client = client;
    addEventListener("keydown", (event) => this.#down(event));
    addEventListener("keyup", (event) => { if (this.#keys.delete(event.code)) this.#send(); });
    addEventListener("blur", () => { if (this.#keys.size > 0) { this.#keys.clear(); this.#send(); } });
  }

  to({ x, y }) {
    const command = new DataView(new ArrayBuffer(9));
    command.setUint8(0, 2);
    command.setFloat32(1, x, true);
    command.setFloat32(5, y, true);
    this.#client.sendCommand(new Uint8Array(command.buffer));
  }

  #down(event) {
    if (isWanted(event.target, event.code) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.code === "KeyC" && !event.repeat) {
      this.#cloaked = !this.#cloaked;
      this.#client.sendCommand(Uint8Array.of(3, this.#cloaked ? 1 : 0));
    }
    if (!(event.code in DIRECTIONS)) return;
    event.preventDefault();
    if (!this.#keys.has(event.code)) {
      this.#keys.add(event.code);
      this.#send();
    }
  }

  #send() {
    let [x, y] = [0, 0];
    for (const key of this.#keys) {
      x += DIRECTIONS[key][0];
      y += DIRECTIONS[key][1];
    }
    const length = Math.hypot(x, y) || 1;
    this.#client.sendCommand(Uint8Array.of(1, x / length * 127, y / length * 127));
  }
}
