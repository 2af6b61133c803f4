// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The operator channel (docs/operator.md): questions to the server that no player may ask. A
// connection of its own, opened only with a token.

export class OperatorChannel {
  #url;
  #socket = null;
  #waiting = [];
  /** Called with {tick, count, floats, words} for every truth frame; 3 words an entity. */
  onTruth = () => {};
  /** Called with {packet, tick, relevant, backlog, leaves} for every packet of the watched client. */
  onHeld = () => {};

  constructor(url) { this.#url = url; }

  get isOpen() { return this.#socket?.readyState === 1; }

  async open() {
    const socket = new WebSocket(this.#url);
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    socket.onmessage = (message) => this.#receive(message.data);
    socket.onclose = () => { for (const { reject } of this.#waiting.splice(0)) reject(new Error("closed")); };
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = () => reject(new Error("the operator channel does not open: wrong token?"));
    });
  }

  close() { this.#socket?.close(); }

  /** A question with one answer, in order. */
  ask(request) {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#socket.send(JSON.stringify(request));
    });
  }

  /** A request without an answer: {op: "held", observer} or {op: "truth", on, rect}. */
  tell(request) { if (this.isOpen) this.#socket.send(JSON.stringify(request)); }

  #receive(data) {
    if (typeof data === "string") {
      const message = JSON.parse(data);
      if (message.op === "held") this.onHeld(message);
      else this.#waiting.shift()?.resolve(message);
      return;
    }
    const header = new Uint32Array(data, 0, 3);
    if (header[0] !== 1) return;
    this.onTruth({ tick: header[1], count: header[2], floats: new Float32Array(data, 12), words: new Uint16Array(data, 12) });
  }
}
