// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The operator channel (docs/operator.md): queries and rule changes that players may not make. A separate connection,
// opened only with a token. Types: operator.d.mts.

const ANSWER_WITHIN_MS = 15_000;  // the server drops data that a slow reader does not accept

export class OperatorChannel {
  #url;
  #socket = null;
  #waiting = [];
  #lastId = 0;  // of the newest request; the reply has the same id
  #opening = null;
  #listeners = new Map();

  constructor(url) { this.#url = url; }

  get isOpen() { return this.#socket?.readyState === 1; }

  /**
   * Calls `listener(detail)` for "open", "closed", "truth", "held", "rules". Returns a function that removes the
   * listener.
   */
  on(name, listener) {
    if (!this.#listeners.has(name)) this.#listeners.set(name, new Set());
    this.#listeners.get(name).add(listener);
    return () => this.#listeners.get(name).delete(listener);
  }

  /** Opens the channel; concurrent calls share one attempt. "closed" follows if it was open. */
  open() {
    this.#opening ??= this.#open().finally(() => { this.#opening = null; });
    return this.#opening;
  }

  async #open() {
    const socket = new WebSocket(this.#url);
    socket.binaryType = "arraybuffer";
    this.#socket?.close();
    this.#giveUp();  // its replies will not arrive
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
      socket.onerror = () => reject(new Error("the operator channel cannot be opened: check the token"));
    });
    this.#emit("open");
  }

  close() { this.#socket?.close(); }

  #giveUp() {
    for (const { reject } of this.#waiting.splice(0)) reject(new Error("the operator channel is closed"));
  }

  /** Sends a request and returns the reply, which may be {op: "error"}. Rejects when the channel closes. */
  ask(request) {
    if (!this.isOpen) return Promise.reject(new Error("the operator channel is closed"));
    return new Promise((resolve, reject) => {
      const entry = { id: ++this.#lastId, resolve, reject };
      this.#waiting.push(entry);
      this.#socket.send(JSON.stringify({ ...request, id: entry.id }));
      setTimeout(() => {
        const at = this.#waiting.indexOf(entry);
        if (at < 0) return;
        this.#waiting.splice(at, 1);
        reject(new Error(`no reply from the server: ${request.op}`));
      }, ANSWER_WITHIN_MS);
    });
  }

  /** Sends a request without a reply: {op: "held", observer} or {op: "truth", on, rect}. */
  tell(request) { if (this.isOpen) this.#socket.send(JSON.stringify(request)); }

  #receive(data) {
    if (typeof data !== "string") return this.#receiveTruth(data);
    const message = JSON.parse(data);
    if (message.op === "held") return this.#emit("held", message);
    // Rules also arrive without a request, after a change by any operator.
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
    for (const listener of [...listeners]) {  // a listener added now is first called for the next event
      if (!listeners.has(listener)) continue;
      try {
        listener(detail);
      } catch (error) {
        queueMicrotask(() => { throw error; });  // reported as uncaught, without affecting other listeners
      }
    }
  }
}
