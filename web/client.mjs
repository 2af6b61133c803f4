// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A client of a Purview server for browsers and Node: the C++ client core as WebAssembly, over a WebSocket. One
// binary message is one datagram. No dependencies, no build step. Types: client.d.mts.

const STATES = ["connecting", "joining", "joined", "refused", "closed"];
const REFUSALS = ["none", "version", "schema", "full", "address_limit", "expired", "join", "shutting_down", "key"];
const FIELD_TYPES = ["number", "text", "rotation", "reference"];
const CALLERS = ["anybody", "owner", "players"];
const TEXT_BYTES_MAX = 64;  // larger than any field
const COMMAND_BYTES_MAX = 200;
const MESSAGE_BYTES_MAX = 65_534;
const EVENTS = ["state", "enter", "leave", "drop", "relation", "change", "viewComplete", "call", "message", "turn"];
const NAME_BYTES_MAX = 32;
const CREDENTIAL_BYTES_MAX = 512;
const CLOSINGS = ["none", "left", "timeout", "malformed", "kicked", "shutting_down", "never_joined"];
export const REASONS = ["entered", "spawned", "owned", "forced", "left", "hidden", "despawned", "disconnected",
                        "promoted"];

/** Words of 32 bits in one instance of `collect()`. */
export const INSTANCE_WORDS = 8;
/** Offsets into an instance. x, y, z are floats, the others unsigned. */
export const INSTANCE = { x: 0, y: 1, z: 2, ghost: 3, kind: 4, parent: 5, owned: 6, updated: 7 };
export const NO_GHOST = 0xffffffff;
export const NO_CELL = 0xffffffff;

const TURN_MS = 50;
/** Upper limit of the turn interval: the server closes a session that is silent for ten seconds. */
const TURN_MS_MAX = 1000;
/** Time limit for opening the socket, as in a native client. */
const CONNECT_WITHIN_MS = 10_000;
const EVENT_WORDS = 5;
const RELATION_WORDS = 5;
const CHANGE_WORDS = 3;
const CALL_WORDS = 5;
const COPIES = ["made", "removed", "kept", "resumed", "dropped"];
const LEAVE_POLICIES = ["despawn", "freeze", "stale", "deactivate"];

/** Compiles the module. Any number of clients can use the result. */
export async function loadPurview(source = "purview_client.wasm") {
  if (typeof source === "string" || source instanceof URL) source = await fetch(source);
  if (typeof Response !== "undefined" && source instanceof Response) {
    if (!source.ok) throw new Error(`${source.url}: ${source.status} ${source.statusText}`);
    source = await source.arrayBuffer();
  }
  return WebAssembly.compile(source);
}

/** Returns the bytes of a buffer or view, or null for other values. */
function bytesOf(data) {
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return data instanceof ArrayBuffer ? new Uint8Array(data) : null;
}

/** Returns the bytes of a buffer or view, or of a text as UTF-8; null for other values. */
const bytesOrText = (data) => typeof data === "string" ? new TextEncoder().encode(data) : bytesOf(data);

/** Returns a number, the bytes of a text, or the four numbers of a rotation; null for a missing text or rotation. */
function argumentOf(type, value) {
  if (type === "number") {
    const number = Number(value ?? 0);
    if (Number.isNaN(number)) throw new RangeError(`${String(value)} is not a number`);
    return number;
  }
  if (value === undefined || value === null) return null;
  if (type === "text") return new TextEncoder().encode(String(value)).subarray(0, TEXT_BYTES_MAX);
  const turn = typeof value === "object" && Symbol.iterator in value ? Array.from(value, Number) : [];
  if (turn.length !== 4 || turn.some(Number.isNaN)) throw new RangeError("a rotation must be four numbers: x, y, z, w");
  return turn;
}

/** Checks ghost ids, because the module reads 32 bits and would convert an invalid value to another id. */
const isGhost = (one) => Number.isInteger(one) && one >= 0 && one <= NO_GHOST;
const ghostOf = (one) => isGhost(one) ? one : NO_GHOST;

/** Rejects -1 from findIndex, which would be read as a missing field. */
function checkIndices(component, field) {
  const isIndex = (one) => Number.isInteger(one) && one >= 0;
  if (!isIndex(component) || !isIndex(field)) throw new RangeError(`component ${component} and field ${field} must be indices of \`schema\``);
}

export class PurviewClient {
  #options;
  #module;
  #exports;
  #loading = null;
  #handle = 0;
  #socket = null;
  #closing = "none";  // reason of an end that the server did not report
  #timer = null;
  #turnedAt = 0;
  #triedAt = 0;
  #arrived = { tick: -1, at: 0 };  // the newest snapshot and its arrival time
  #clock = { newest: -1, tick: 0, at: 0 };  // estimate of the server's tick at a time
  #attempt = 0;  // incremented by connect() and leave(); cancels an older pending connect()
  #listeners = new Map();
  #state = "closed";
  #names = null;
  #wasViewComplete = false;

  /** See ClientOptions in client.d.mts. Opens nothing before `connect()`. */
  constructor(module, options) {
    this.#module = module;
    const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
    this.#options = { role: "player", name: "", credential: "", digestEvery: 0, turnMs: TURN_MS,
                      WebSocket: globalThis.WebSocket, ...given };
    const credential = bytesOrText(this.#options.credential);
    if (credential === null) throw new TypeError("a credential must be bytes or a text");
    this.#options.credential = credential.slice();
    if (credential.length > CREDENTIAL_BYTES_MAX)
      throw new RangeError(`the credential has ${credential.length} bytes; the limit is ${CREDENTIAL_BYTES_MAX}`);
  }

  /**
   * Calls `listener(detail)` for "state", "enter", "leave", "drop", "relation", "change", "viewComplete", "call",
   * "message", "turn". Returns a function that removes the listener.
   */
  on(name, listener) {
    if (!EVENTS.includes(name)) throw new RangeError(`unknown event '${name}'; available: ${EVENTS.join(", ")}`);
    if (!this.#listeners.has(name)) this.#listeners.set(name, new Set());
    this.#listeners.get(name).add(listener);
    return () => this.#listeners.get(name).delete(listener);
  }

  /**
   * Opens a new connection with an empty world, after leaving an old one. If called several times, the last call
   * counts.
   */
  async connect() {
    this.leave();
    const attempt = this.#attempt;
    this.#loading ??= this.#load();
    await this.#loading;
    if (attempt !== this.#attempt) return;
    const nonce = new Uint32Array(2);
    globalThis.crypto.getRandomValues(nonce);
    this.nonce = nonce[1].toString(16).padStart(8, "0") + nonce[0].toString(16).padStart(8, "0");
    this.#setState("connecting");  // users of the old instance release it
    if (attempt !== this.#attempt) return;
    if (this.#handle !== 0) this.#exports.pv_client_destroy(this.#handle);
    this.#handle = this.#exports.pv_client_create(nonce[0], nonce[1], this.#options.role === "player" ? 1 : 0,
                                                  this.#options.digestEvery);
    this.#names = null;
    this.#arrived = { tick: -1, at: 0 };
    this.#clock = { newest: -1, tick: 0, at: 0 };
    this.#wasViewComplete = false;
    this.#closing = "none";
    let socket;
    try {
      this.#introduce();
      socket = new this.#options.WebSocket(this.#options.url);
    } catch (error) {
      this.#lose();
      throw error;
    }
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    this.#triedAt = performance.now();
    socket.onopen = () => { this.#turn(); };
    socket.onmessage = ({ data }) => {
      if (socket === this.#socket && data instanceof ArrayBuffer) this.#receive(new Uint8Array(data));
    };
    socket.onclose = () => { if (socket === this.#socket) this.#lose(); };
    socket.onerror = () => {};
    this.#timer = setInterval(() => this.#turn(), this.#options.turnMs);
  }

  /** Disconnects. */
  leave() {
    ++this.#attempt;
    if (this.#state === "closed" || this.#state === "refused") return;
    if (this.#state === "joined" || this.#state === "joining") {
      this.#exports.pv_client_leave(this.#handle);
      this.#flush();
    }
    this.#closing = "left";
    this.#end("closed");
  }

  get state() { return this.#state; }
  /** The module's exports and this client's handle, for a module with additional functions. */
  get native() { return { exports: this.#exports, handle: this.#handle }; }
  get refuseReason() { return REFUSALS[this.#number("pv_client_refuse_reason")] ?? "none"; }
  get closeReason() {
    // After this client ended the connection, the module may still report the reason of the previous one.
    return this.#closing === "none" ? CLOSINGS[this.#number("pv_client_close_reason")] : this.#closing;
  }
  get reasonText() { return this.#handle === 0 ? "" : this.#text(this.#exports.pv_client_reason_text(this.#handle)); }
  get tickHz() { return this.#number("pv_client_tick_hz"); }
  /** Server tick of the newest snapshot. */
  get newestTick() { return this.#number("pv_client_newest_tick"); }
  /** Number of the newest packet with a snapshot. */
  get newestPacket() { return this.#number("pv_client_newest_packet"); }
  get ghostCount() { return this.#number("pv_client_ghost_count"); }
  get worldName() { return this.#handle === 0 ? "" : this.#text(this.#exports.pv_client_world_name(this.#handle)); }

  /**
   * Kinds, components and calls of the world, by name; empty until the server has sent them, which is before
   * "joined".
   */
  get schema() {
    if (this.#names !== null) return this.#names;
    const count = (name, ...rest) => this.#number(name, ...rest);
    const text = (name, ...rest) => this.#text(this.#exports[name](this.#handle, ...rest));
    const kinds = Array.from({ length: count("pv_client_kind_count") }, (_, k) => text("pv_client_kind_name", k));
    const components = Array.from({ length: count("pv_client_component_count") }, (_, c) => ({
      name: text("pv_client_component_name", c),
      fields: Array.from({ length: count("pv_client_field_count", c) }, (_, f) => text("pv_client_field_name", c, f)),
      types: Array.from({ length: count("pv_client_field_count", c) },
                        (_, f) => FIELD_TYPES[count("pv_client_field_type", c, f)]),
    }));
    const calls = Array.from({ length: count("pv_client_rpc_count") }, (_, r) => ({
      name: text("pv_client_rpc_name", r),
      toServer: count("pv_client_rpc_to_server", r) === 1,
      aboutGhost: count("pv_client_rpc_about_ghost", r) === 1,
      callers: CALLERS[count("pv_client_rpc_callers", r)],
      arguments: Array.from({ length: count("pv_client_argument_count", r) },
                            (_, a) => text("pv_client_argument_name", r, a)),
      types: Array.from({ length: count("pv_client_argument_count", r) },
                        (_, a) => FIELD_TYPES[count("pv_client_argument_type", r, a)]),
    }));
    const names = { kinds, components, calls };
    if (kinds.length > 0) this.#names = names;
    return names;
  }

  /**
   * Returns all ghosts at a tick, which may be fractional. The views are valid until the next call of any function; instance
   * i starts at word i * INSTANCE_WORDS.
   */
  collect(tick) {
    const count = this.#number("pv_client_collect", tick);
    const at = this.#handle === 0 ? 0 : this.#exports.pv_client_instances(this.#handle);
    const buffer = this.#exports?.memory.buffer ?? new ArrayBuffer(0);
    return {
      count,
      floats: new Float32Array(buffer, at, count * INSTANCE_WORDS),
      words: new Uint32Array(buffer, at, count * INSTANCE_WORDS),
    };
  }

  /**
   * Returns a field of a ghost by its names, with the type of the field: a number, a text, a rotation [x, y, z, w],
   * or the ghost of a reference. If the ghost is unknown or lacks the component, returns 0, "", the identity
   * rotation or NO_GHOST. Throws a RangeError for an unknown name.
   */
  get(ghost, component, field) {
    const { components } = this.schema;
    const c = components.findIndex((one) => one.name === component);
    if (c < 0) throw new RangeError(`unknown component '${component}'; available: ${components.map((one) => one.name).join(", ") || "none"}`);
    const f = components[c].fields.indexOf(field);
    if (f < 0) throw new RangeError(`'${component}' has no field '${field}'; available: ${components[c].fields.join(", ") || "none"}`);
    switch (components[c].types[f]) {
      case "text": return this.text(ghost, c, f);
      case "rotation": return this.rotation(ghost, c, f);
      case "reference": return this.reference(ghost, c, f);
      default: return this.value(ghost, c, f);
    }
  }

  /** A field of a ghost; 0 if there is none. Indices as in `schema`; throws a RangeError for an invalid index. */
  value(ghost, component, field) {
    checkIndices(component, field);
    return this.#number("pv_client_value", ghostOf(ghost), component, field);
  }

  /** A text of a ghost. */
  text(ghost, component, field) {
    checkIndices(component, field);
    return this.#handle === 0 ? "" : this.#text(this.#exports.pv_client_text(this.#handle, ghostOf(ghost), component, field));
  }

  /** A rotation of a ghost: [x, y, z, w]. */
  rotation(ghost, component, field) {
    checkIndices(component, field);
    if (this.#handle === 0) return [0, 0, 0, 1];
    const at = this.#exports.pv_client_rotation(this.#handle, ghostOf(ghost), component, field);
    return [...new Float32Array(this.#exports.memory.buffer, at, 4)];
  }

  /** World orientation of a ghost at a tick, by the orientation of its kind: [x, y, z, w]. */
  orientation(ghost, tick) {
    if (this.#handle === 0) return [0, 0, 0, 1];
    const at = this.#exports.pv_client_orientation(this.#handle, ghostOf(ghost), tick);
    return [...new Float32Array(this.#exports.memory.buffer, at, 4)];
  }

  /** The ghost of a reference; NO_GHOST for none, or for an unknown ghost. */
  reference(ghost, component, field) {
    checkIndices(component, field);
    return this.#handle === 0 ? NO_GHOST : this.#number("pv_client_reference", ghostOf(ghost), component, field);
  }

  /** Whether this client owns the ghost. */
  isOwned(ghost) { return this.#number("pv_client_is_owned", ghostOf(ghost)) === 1; }

  /** Index into schema.kinds; -1 for an unknown ghost. */
  kindOf(ghost) { return this.#handle === 0 ? -1 : this.#number("pv_client_kind_of", ghostOf(ghost)) | 0; }

  /** NO_GHOST for a root, or for an unknown ghost. */
  parentOf(ghost) { return this.#handle === 0 ? NO_GHOST : this.#number("pv_client_parent_of", ghostOf(ghost)); }

  /** [x, y, z] at a tick, which may be fractional; zeros for an unknown ghost. */
  position(ghost, tick) {
    if (this.#handle === 0) return [0, 0, 0];
    const at = this.#exports.pv_client_position(this.#handle, ghostOf(ghost), tick);
    return [...new Float32Array(this.#exports.memory.buffer, at, 3)];
  }

  /**
   * Returns the tick to draw: `behind` ticks before the server's tick at `now` (performance.now(), or the argument of
   * a requestAnimationFrame callback), as estimated from the arrival of snapshots. Advances steadily between
   * snapshots, also in an idle world: use viewTick(now, 0) for countdowns.
   */
  viewTick(now = performance.now(), behind = 2) {
    const { tick, at } = this.#arrived;
    if (tick !== this.#clock.newest) {
      // Follows slowly to hide jitter, and jumps if the difference is large.
      const off = tick - this.#tickAt(at);
      const isFar = Math.abs(off) > Math.max(8, 0.4 * this.tickHz);
      this.#clock = { newest: tick, tick: this.#tickAt(now) + (isFar ? off : off * 0.1), at: now };
    }
    return this.#tickAt(now) - behind;
  }

  #tickAt(now) { return this.#clock.tick + (now - this.#clock.at) / 1000 * this.tickHz; }

  /** The root of its group, itself for a root; NO_GHOST for an unknown ghost. */
  rootOf(ghost) { return this.#handle === 0 ? NO_GHOST : this.#number("pv_client_root_of", ghostOf(ghost)); }

  /** Number of cell grids that the server has sent. */
  get cellGridCount() { return this.#number("pv_client_cell_grid_count"); }

  /** Cell index of a ghost, equal to the server's; NO_CELL for none. */
  cellOf(ghost, grid = 0) { return this.#handle === 0 ? NO_CELL : this.#number("pv_client_cell_of", ghostOf(ghost), grid); }

  /** Whether the component is replicated to this client; otherwise its values are outdated or zero. */
  isReplicated(ghost, component) {
    checkIndices(component, 0);
    return this.#number("pv_client_is_replicated", ghostOf(ghost), component) === 1;
  }

  /** Retention of a ghost that has left; "despawn": not retained. */
  retention(ghost) { return LEAVE_POLICIES[this.#number("pv_client_retention", ghostOf(ghost))]; }

  /** Whether everything that was relevant at the join has arrived. */
  get isViewComplete() { return this.#number("pv_client_is_view_complete") === 1; }

  /** Sends a command to the game: bytes, at most 200. Returns false if it is invalid or cannot be sent. */
  sendCommand(command) {
    const bytes = bytesOf(command);
    if (this.#state !== "joined" || bytes === null || bytes.length > COMMAND_BYTES_MAX) return false;
    this.#input(bytes);
    return this.#exports.pv_client_send_command(this.#handle, bytes.length) === 1;
  }

  /**
   * Sends a message to the game, reliable and ordered: bytes, or a text, which is sent as UTF-8. Returns false if it
   * cannot be sent now: not joined, or too much is queued. Throws a RangeError for an invalid message: not bytes, or
   * more than 65,534.
   */
  sendMessage(message) {
    const bytes = bytesOrText(message);
    if (bytes === null) throw new RangeError("a message must be a text or bytes");
    if (bytes.length > MESSAGE_BYTES_MAX) throw new RangeError(`the message has ${bytes.length} bytes; the limit is ${MESSAGE_BYTES_MAX}`);
    if (this.#state !== "joined") return false;
    const at = this.#exports.pv_client_message_room(this.#handle, bytes.length);
    new Uint8Array(this.#exports.memory.buffer, at, bytes.length).set(bytes);
    return this.#exports.pv_client_send_message(this.#handle, bytes.length) === 1;
  }

  /**
   * Calls the server: a name of `schema.calls`, arguments by name (missing ones are 0, empty, or the identity
   * rotation; numbers are clamped to the range of the schema, texts cut to 31 bytes), and the target ghost, if the
   * call has one. Returns false if it cannot be made now: not joined, the ghost has left or is not owned, or too many
   * calls are queued. Throws a RangeError for an invalid call, and then sends nothing.
   */
  call(name, values, ghost) {
    if (this.#state !== "joined") return false;
    const { calls } = this.schema;
    const rpc = calls.findIndex((one) => one.name === name && one.toServer);
    if (rpc < 0) {
      const known = calls.filter((one) => one.toServer).map((one) => one.name).join(", ");
      throw new RangeError(`unknown call to the server: '${name}'; available: ${known || "none"}`);
    }
    const { arguments: names, types, aboutGhost, callers } = calls[rpc];
    if (aboutGhost && !isGhost(ghost)) throw new RangeError(`'${name}' needs a ghost id; ${String(ghost)} is not one`);
    if (callers === "players" && this.#options.role !== "player") throw new RangeError(`'${name}' is for players only`);
    const unknown = Object.keys(values ?? {}).find((key) => values[key] !== undefined && !names.includes(key));
    if (unknown !== undefined) throw new RangeError(`'${name}' has no argument '${unknown}'; available: ${names.join(", ") || "none"}`);
    // All values are checked before the first is passed, because passed values stay in the module for the next call.
    const given = names.map((argument, a) => argumentOf(types[a], values?.[argument]));
    given.forEach((value, a) => this.#give(a, types[a], value));
    const numbers = given.map((value, a) => types[a] === "number" ? value : 0);
    const at = this.#exports.pv_client_input(this.#handle);
    new Float64Array(this.#exports.memory.buffer, at, numbers.length).set(numbers);
    return this.#exports.pv_client_call(this.#handle, rpc, ghostOf(ghost), numbers.length) === 1;
  }

  /** Passes an argument that is not a number to the module, ahead of the call. */
  #give(argument, type, value) {
    if (type === "number" || value === null) return;
    if (type === "text") {
      this.#input(value);
      this.#exports.pv_client_give_text(this.#handle, argument, value.length);
    } else {
      const at = this.#exports.pv_client_input(this.#handle);
      new Float64Array(this.#exports.memory.buffer, at, 4).set(value);
      this.#exports.pv_client_give_rotation(this.#handle, argument);
    }
  }

  get stats() {
    const names = ["bytesSent", "bytesReceived", "packetsReceived", "packetsLate", "packetsMalformed",
                   "packetsLost", "orderViolations", "rttMs"];
    if (this.#handle === 0) return Object.fromEntries(names.map((name) => [name, 0]));
    const at = this.#exports.pv_client_stats(this.#handle);
    const values = new Float64Array(this.#exports.memory.buffer, at, names.length);
    return Object.fromEntries(names.map((name, i) => [name, values[i]]));
  }

  async #load() {
    try {
      const { exports } = await WebAssembly.instantiate(this.#module, this.#imports());
      exports._initialize?.();
      this.#exports = exports;
    } catch (error) {
      this.#loading = null;  // the next connect() retries
      throw error;
    }
  }

  #imports() {
    // The module makes no system calls in normal operation. Imports of the C library throw.
    const refuse = new Proxy({}, { get: (_, name) => () => { throw new Error(`the module called an unavailable import: ${String(name)}`); } });
    return { wasi_snapshot_preview1: refuse, env: refuse };
  }

  /** Calls a function of the module. Returns 0 if there is no client. All results except pv_client_value are unsigned. */
  #number(name, ...rest) {
    if (this.#handle === 0) return 0;
    const value = this.#exports[name](this.#handle, ...rest);
    return name === "pv_client_value" ? value : value >>> 0;
  }

  #text(at) {
    const bytes = new Uint8Array(this.#exports.memory.buffer, at);
    let end = 0;
    while (bytes[end] !== 0) ++end;
    return new TextDecoder().decode(bytes.slice(0, end));
  }

  #input(bytes) {
    const at = this.#exports.pv_client_input(this.#handle);
    new Uint8Array(this.#exports.memory.buffer, at, 2048).set(bytes);
  }

  #receive(bytes) {
    if (bytes.length > 2048) return;
    this.#input(bytes);
    const now = performance.now();
    this.#exports.pv_client_receive(this.#handle, bytes.length, now);
    const tick = this.newestTick;
    if (tick !== this.#arrived.tick) this.#arrived = { tick, at: now };
    const socket = this.#socket;
    // A listener may react to the join before the data of the same packet is reported.
    if (STATES[this.#exports.pv_client_state(this.#handle)] === "joined") this.#followState();
    if (this.#socket !== socket) return;
    if (this.#state === "joined" && !this.#report([...this.#takeEvents(), ...this.#takeCalls()])) return;
    this.#flush();
    this.#followState();
    if (this.#socket !== socket || !this.#report(this.#takeMessages())) return;
    // Timers of a background page are rare, so an arriving packet is acknowledged without them.
    const late = performance.now() - this.#turnedAt > Math.min(this.#options.turnMs, TURN_MS_MAX);
    if (late || this.#state === "joining") this.#turn();
  }

  #turn() {
    if (this.#socket?.readyState === 0 && performance.now() - this.#triedAt > CONNECT_WITHIN_MS) return this.#lose();
    if (this.#socket === null || this.#socket.readyState !== 1) return;
    this.#turnedAt = performance.now();
    if (!this.#report([["turn"]])) return;
    this.#exports.pv_client_tick(this.#handle, performance.now());
    if (this.#state === "joined" && !this.#report(this.#takeCalls())) return;
    this.#flush();
    this.#followState();
  }

  /**
   * Reports events [name, detail] in order. Stops and returns false if a listener ends the connection.
   */
  #report(events) {
    const socket = this.#socket;
    for (const [name, detail] of events) {
      this.#emit(name, detail);
      if (this.#socket !== socket) return false;
    }
    return true;
  }

  #flush() {
    for (;;) {
      const size = this.#exports.pv_client_next_datagram(this.#handle);
      if (size === 0) return;
      const at = this.#exports.pv_client_output(this.#handle);
      if (this.#socket.readyState === 1) this.#socket.send(new Uint8Array(this.#exports.memory.buffer, at, size).slice());
    }
  }

  #takeEvents() {
    const events = this.#rows("pv_client_take_events", "pv_client_events", EVENT_WORDS);
    const relations = this.#rows("pv_client_relation_count", "pv_client_relations", RELATION_WORDS);
    return [
      ...events.map(([ghost, kind, enter, reason, copy]) => {
        const name = enter ? "enter" : COPIES[copy] === "dropped" ? "drop" : "leave";
        return [name, { ghost, kind, reason: REASONS[reason] ?? "unknown", copy: COPIES[copy] }];
      }),
      ...relations.map(([ghost, oldRoot, newRoot, oldParent, newParent]) =>
        ["relation", { ghost, oldRoot, newRoot, oldParent, newParent }]),
      ...this.#takeChanges(),
      ...this.#takeViewComplete(),
    ];
  }

  #takeViewComplete() {
    if (this.#wasViewComplete || !this.isViewComplete) return [];
    this.#wasViewComplete = true;
    return [["viewComplete", undefined]];
  }

  #takeChanges() {
    if (!this.#listeners.get("change")?.size) return [];
    return this.#rows("pv_client_change_count", "pv_client_changes", CHANGE_WORDS).map(([ghost, mask, ownerChanged]) => {
      const components = [];
      for (let c = 0; c < 32; ++c) if (mask >>> c & 1) components.push(c);
      return ["change", { ghost, components, ownerChanged: ownerChanged === 1 }];
    });
  }

  /** Returns a copy of an array of the module, because a listener may call any function. */
  #rows(count, at, width) {
    const rows = this.#exports[count](this.#handle);
    if (rows === 0) return [];
    const words = new Uint32Array(this.#exports.memory.buffer, this.#exports[at](this.#handle), rows * width).slice();
    return Array.from({ length: rows }, (_, i) => words.subarray(i * width, (i + 1) * width));
  }

  #takeCalls() {
    const rows = this.#rows("pv_client_take_calls", "pv_client_calls", CALL_WORDS);
    if (rows.length === 0) return [];
    const [, , last, count] = rows.at(-1);
    const all = new Float64Array(this.#exports.memory.buffer, this.#exports.pv_client_call_values(this.#handle),
                                 last + count).slice();
    const { calls } = this.schema;
    return rows.map(([rpc, ghost, first, , left]) => {
      const { arguments: names, types } = calls[rpc];
      const values = Object.fromEntries(names.map((name, a) => [name, this.#argument(types[a], all, first + a)]));
      return ["call", { name: calls[rpc].name, ghost, ghostLeft: left === 1, values }];
    });
  }

  #argument(type, numbers, value) {
    if (type === "number") return numbers[value];
    if (type === "text") return this.#text(this.#exports.pv_client_call_text(this.#handle, value));
    const at = this.#exports.pv_client_call_rotation(this.#handle, value);
    return Array.from(new Float32Array(this.#exports.memory.buffer, at, 4));
  }

  #takeMessages() {
    const messages = [];
    while (this.#exports.pv_client_next_message(this.#handle) === 1) {
      const at = this.#exports.pv_client_message(this.#handle);
      const size = this.#exports.pv_client_message_size(this.#handle);
      messages.push(["message", new Uint8Array(this.#exports.memory.buffer, at, size).slice()]);
    }
    return messages;
  }

  #followState() {
    const state = STATES[this.#exports.pv_client_state(this.#handle)];
    if (state === "closed" || state === "refused") this.#end(state);
    else this.#setState(state);
  }

  #introduce() {
    const pass = (bytes, set) => {
      if (bytes.length === 0) return;
      this.#input(bytes);
      this.#exports[set](this.#handle, bytes.length);
    };
    const room = new Uint8Array(NAME_BYTES_MAX);
    const { written } = new TextEncoder().encodeInto(this.#options.name, room);  // only whole characters
    pass(room.subarray(0, written), "pv_client_set_name");
    pass(this.#options.credential, "pv_client_set_credential");
  }

  #lose() {
    this.#closing = "lost";
    this.#end("closed");
  }

  #end(state) {
    clearInterval(this.#timer);
    const socket = this.#socket;
    this.#socket = null;
    if (socket !== null && socket.readyState < 2) socket.close();
    this.#setState(state);
  }

  #setState(state) {
    if (state === this.#state) return;
    this.#state = state;
    this.#emit("state", state);
  }

  #emit(name, detail) {
    const state = this.#state;
    const listeners = this.#listeners.get(name) ?? new Set();
    for (const listener of [...listeners]) {  // a listener added now is first called for the next event
      if (!listeners.has(listener)) continue;
      try {
        listener(detail);
      } catch (error) {
        queueMicrotask(() => { throw error; });  // reported as uncaught, without affecting other listeners
      }
      if (this.#state !== state) return;  // a listener ended the connection, and all listeners were notified of that
    }
  }
}
