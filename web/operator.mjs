// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The operator channel (docs/operator.md): questions to the server that no player may ask, and rules
// that no player may set. A connection of its own, opened only with a token. Types: operator.d.mts.

const ANSWER_WITHIN_MS = 15_000;  // the server drops what a slow reader does not take

export class OperatorChannel {
  #url;
  #socket = null;
  #waiting = [];
  #asked = 0;  // a number for each question, which its answer bears
  #opening = null;
  #listeners = new Map();

  constructor(url) { this.#url = url; }

  get isOpen() { return this.#socket?.readyState === 1; }

  /** Calls `listener(detail)` for "open", "closed", "truth", "held", "rules". Returns a function that ends it. */
  on(name, listener) {
    if (!this.#listeners.has(name)) this.#listeners.set(name, new Set());
    this.#listeners.get(name).add(listener);
    return () => this.#listeners.get(name).delete(listener);
  }

  /** The channel opens once, however often it is asked to while it does. "closed" follows if it was open. */
  open() {
    this.#opening ??= this.#open().finally(() => { this.#opening = null; });
    return this.#opening;
  }

  async #open() {
    const socket = new WebSocket(this.#url);
    socket.binaryType = "arraybuffer";
    this.#socket?.close();
    this.#giveUp();  // its answers do not come any more
    this.#socket = socket;
    let wasOpen = false;
    socket.onmessage = (message) => { if (socket === this.#socket) this.#receive(message.data); };
    socket.onclose = () => {
      if (socket !== this.#socket) return;
      this.#giveUp();
      if (wasOpen) this.#emit("closed");
    };
    await new Promise((resolve, reject) => {
      socket.onopen = () => { wasOpen = true; resolve(); };
      socket.onerror = () => reject(new Error("the operator channel does not open: wrong token?"));
    });
    this.#emit("open");
  }

  close() { this.#socket?.close(); }

  #giveUp() {
    for (const { reject } of this.#waiting.splice(0)) reject(new Error("the operator channel is closed"));
  }

  /** A question with one answer; {op: "error"} is an answer. Rejected when the channel closes. */
  ask(request) {
    if (!this.isOpen) return Promise.reject(new Error("the operator channel is closed"));
    return new Promise((resolve, reject) => {
      const entry = { id: ++this.#asked, resolve, reject };
      this.#waiting.push(entry);
      this.#socket.send(JSON.stringify({ ...request, id: entry.id }));
      setTimeout(() => {
        const at = this.#waiting.indexOf(entry);
        if (at < 0) return;
        this.#waiting.splice(at, 1);
        reject(new Error(`the server does not answer: ${request.op}`));
      }, ANSWER_WITHIN_MS);
    });
  }

  /** A request without an answer: {op: "held", observer} or {op: "truth", on, rect}. */
  tell(request) { if (this.isOpen) this.#socket.send(JSON.stringify(request)); }

  #receive(data) {
    if (typeof data !== "string") return this.#receiveTruth(data);
    const message = JSON.parse(data);
    if (message.op === "held") return this.#emit("held", message);
    // Rules come unasked as well, whenever somebody sets them.
    if (message.op === "rules") this.#emit("rules", message);
    const at = this.#waiting.findIndex(({ id }) => id === message.id);
    if (at >= 0) this.#waiting.splice(at, 1)[0].resolve(message);
  }

  #receiveTruth(data) {
    const header = new Uint32Array(data, 0, 3);
    if (header[0] !== 1) return;
    this.#emit("truth", { tick: header[1], count: header[2], floats: new Float32Array(data, 12), words: new Uint16Array(data, 12) });
  }

  #emit(name, detail) {
    const listeners = this.#listeners.get(name) ?? new Set();
    for (const listener of [...listeners]) {  // who is added now hears the next one
      if (!listeners.has(listener)) continue;
      try {
        listener(detail);
      } catch (error) {
        queueMicrotask(() => { throw error; });  // nobody else's loss, and an uncaught error as ever
      }
    }
  }
}
