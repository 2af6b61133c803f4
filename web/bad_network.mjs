// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A WebSocket behind a simulated bad connection that delays and drops messages, to try its effects.

/** `delayMs`: added round trip; `jitterMs`: maximum random delay per direction; `loss`: fraction lost per direction. */
export class BadNetwork {
  delayMs = 0;
  jitterMs = 0;
  loss = 0;

  /** Calls `deliver` later, or never. Calls with the same `direction` stay in order. */
  pass(direction, deliver) {
    if (Math.random() < this.loss) return;
    const due = performance.now() + this.delayMs / 2 + Math.random() * this.jitterMs;
    if (this.delayMs === 0 && this.jitterMs === 0 && direction.due <= performance.now()) return deliver();
    direction.due = Math.max(direction.due, due);
    setTimeout(deliver, direction.due - performance.now());
  }

  /** A class like WebSocket with all its sockets behind this network. */
  get WebSocket() {
    const network = this;
    return class {
      onopen = () => {};
      onmessage = () => {};
      onclose = () => {};
      onerror = () => {};
      #socket;
      #up = { due: 0 };
      #down = { due: 0 };

      constructor(url) {
        this.#socket = new WebSocket(url);
        this.#socket.binaryType = "arraybuffer";
        this.#socket.onopen = (event) => this.onopen(event);
        this.#socket.onclose = (event) => this.onclose(event);
        this.#socket.onerror = (event) => this.onerror(event);
        this.#socket.onmessage = ({ data }) => network.pass(this.#down, () => this.onmessage({ data }));
      }

      get readyState() { return this.#socket.readyState; }
      send(bytes) { network.pass(this.#up, () => { if (this.readyState === 1) this.#socket.send(bytes); }); }
      close() { this.#socket.close(); }
    };
  }
}
