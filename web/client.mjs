// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// A client of a Purview server for browsers and Node: the C++ client core as WebAssembly, carried by
// a WebSocket. One binary message is one datagram. No dependency, no build step. Types: client.d.mts.

const STATES = ["connecting", "joining", "joined", "refused", "closed"];
const REFUSALS = ["none", "version", "schema", "full", "address_limit", "expired", "join", "shutting_down"];
const FIELD_TYPES = ["number", "text", "rotation", "reference"];
const CALLERS = ["anybody", "owner", "players"];
const TEXT_BYTES_MAX = 64;  // more than any field has
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
/** However rare the turns: the server closes a session that is silent for ten seconds. */
const TURN_MS_MAX = 1000;
/** A socket that has not opened by then is given up, as a native client gives up. */
const CONNECT_WITHIN_MS = 10_000;
const EVENT_WORDS = 5;
const RELATION_WORDS = 5;
const CHANGE_WORDS = 3;
const CALL_WORDS = 5;
const COPIES = ["made", "removed", "kept", "resumed", "dropped"];
const LEAVE_POLICIES = ["despawn", "freeze", "stale", "deactivate"];

/** Compiles the module once; hand the result to as many clients as you like. */
export async function loadPurview(source = "purview_client.wasm") {
  if (typeof source === "string" || source instanceof URL) source = await fetch(source);
  if (typeof Response !== "undefined" && source instanceof Response) {
    if (!source.ok) throw new Error(`${source.url}: ${source.status} ${source.statusText}`);
    source = await source.arrayBuffer();
  }
  return WebAssembly.compile(source);
}

/** The bytes behind a buffer or a view of one; null: it is neither. */
function bytesOf(data) {
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return data instanceof ArrayBuffer ? new Uint8Array(data) : null;
}

/** The same, and of a text its UTF-8. */
const bytesOrText = (data) => typeof data === "string" ? new TextEncoder().encode(data) : bytesOf(data);

/** A number, or the bytes of a text, or four numbers of a rotation; null for one of those that is missing. */
function argumentOf(type, value) {
  if (type === "number") {
    const number = Number(value ?? 0);
    if (Number.isNaN(number)) throw new RangeError(`${String(value)} is no number`);
    return number;
  }
  if (value === undefined || value === null) return null;
  if (type === "text") return new TextEncoder().encode(String(value)).subarray(0, TEXT_BYTES_MAX);
  const turn = typeof value === "object" && Symbol.iterator in value ? Array.from(value, Number) : [];
  if (turn.length !== 4 || turn.some(Number.isNaN)) throw new RangeError("a rotation is four numbers: x, y, z, w");
  return turn;
}

/** The module reads 32 bits, and whatever is no such number as another one. */
const isGhost = (one) => Number.isInteger(one) && one >= 0 && one <= NO_GHOST;
const ghostOf = (one) => isGhost(one) ? one : NO_GHOST;

/** What findIndex has not found is -1, and would be read as nothing. */
function checkIndices(component, field) {
  const isIndex = (one) => Number.isInteger(one) && one >= 0;
  if (!isIndex(component) || !isIndex(field)) throw new RangeError(`component ${component}, field ${field}: no numbers of \`schema\``);
}

export class PurviewClient {
  #options;
  #module;
  #exports;
  #loading = null;
  #handle = 0;
  #socket = null;
  #closing = "none";  // why it ended, where no server has said so
  #timer = null;
  #turnedAt = 0;
  #triedAt = 0;
  #arrived = { tick: -1, at: 0 };  // the newest snapshot, and when it came
  #clock = { heard: -1, tick: 0, at: 0 };  // the server's tick at a time, as far as snapshots tell
  #attempt = 0;  // raised by connect() and leave(): an older connect() that still waits is void
  #listeners = new Map();
  #state = "closed";
  #names = null;
  #wasViewComplete = false;

  /** See ClientOptions in client.d.mts. Nothing is opened before `connect()`. */
  constructor(module, options) {
    this.#module = module;
    const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
    this.#options = { role: "player", name: "", credential: "", digestEvery: 0, turnMs: TURN_MS,
                      WebSocket: globalThis.WebSocket, ...given };
    const credential = bytesOrText(this.#options.credential);
    if (credential === null) throw new TypeError("a credential is bytes or a text");
    this.#options.credential = credential.slice();
    if (credential.length > CREDENTIAL_BYTES_MAX)
      throw new RangeError(`a credential has at most ${CREDENTIAL_BYTES_MAX} bytes`);
  }

  /** Calls `listener(detail)` for "state", "enter", "leave", "drop", "relation", "change", "viewComplete", "call", "message", "turn". Returns a function that ends it. */
  on(name, listener) {
    if (!EVENTS.includes(name)) throw new RangeError(`there is no event '${name}', but: ${EVENTS.join(", ")}`);
    if (!this.#listeners.has(name)) this.#listeners.set(name, new Set());
    this.#listeners.get(name).add(listener);
    return () => this.#listeners.get(name).delete(listener);
  }

  /** A new connection with an empty world; an old one is left first. Of several calls the last one counts. */
  async connect() {
    this.leave();
    const attempt = this.#attempt;
    this.#loading ??= this.#load();
    await this.#loading;
    if (attempt !== this.#attempt) return;
    const nonce = new Uint32Array(2);
    globalThis.crypto.getRandomValues(nonce);
    this.nonce = nonce[1].toString(16).padStart(8, "0") + nonce[0].toString(16).padStart(8, "0");
    this.#setState("connecting");  // whoever has a part of the old one lets go
    if (attempt !== this.#attempt) return;
    if (this.#handle !== 0) this.#exports.pv_client_destroy(this.#handle);
    this.#handle = this.#exports.pv_client_create(nonce[0], nonce[1], this.#options.role === "player" ? 1 : 0,
                                                  this.#options.digestEvery);
    this.#names = null;
    this.#arrived = { tick: -1, at: 0 };
    this.#clock = { heard: -1, tick: 0, at: 0 };
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

  /** Says good-bye. */
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
  /** The module's exports and this client's handle, for a module with functions of its own. */
  get native() { return { exports: this.#exports, handle: this.#handle }; }
  get refuseReason() { return REFUSALS[this.#number("pv_client_refuse_reason")] ?? "none"; }
  get closeReason() {
    // What we have ended ourselves may have a module behind it that still speaks of the connection before.
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

  /** Kinds and components of the world, by name; empty before the server has told of them, which is before "joined". */
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
   * All ghosts as of a tick that may lie between two. The views are valid until the next call of
   * anything here; instance i begins at word i * INSTANCE_WORDS.
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
   * A field of a ghost by its names, as its type is: a number, a text, a rotation [x, y, z, w], or the ghost that a
   * reference names. Where the ghost is not held or has no such component: 0, "", not turned, NO_GHOST. A RangeError
   * for a name that the world does not have.
   */
  get(ghost, component, field) {
    const { components } = this.schema;
    const c = components.findIndex((one) => one.name === component);
    if (c < 0) throw new RangeError(`no component is named '${component}', but: ${components.map((one) => one.name).join(", ") || "none"}`);
    const f = components[c].fields.indexOf(field);
    if (f < 0) throw new RangeError(`'${component}' has no field '${field}', but: ${components[c].fields.join(", ") || "none"}`);
    switch (components[c].types[f]) {
      case "text": return this.text(ghost, c, f);
      case "rotation": return this.rotation(ghost, c, f);
      case "reference": return this.reference(ghost, c, f);
      default: return this.value(ghost, c, f);
    }
  }

  /** A field of a ghost; 0 where there is none. Indices as in `schema`; a RangeError for what can be none. */
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

  /** How a ghost was turned at a tick, in the world, by the orientation of its kind: [x, y, z, w]. */
  orientation(ghost, tick) {
    if (this.#handle === 0) return [0, 0, 0, 1];
    const at = this.#exports.pv_client_orientation(this.#handle, ghostOf(ghost), tick);
    return [...new Float32Array(this.#exports.memory.buffer, at, 4)];
  }

  /** The ghost that a reference names; NO_GHOST for none, or for one that we do not hold. */
  reference(ghost, component, field) {
    checkIndices(component, field);
    return this.#handle === 0 ? NO_GHOST : this.#number("pv_client_reference", ghostOf(ghost), component, field);
  }

  /** Whether the ghost is ours. */
  isOwned(ghost) { return this.#number("pv_client_is_owned", ghostOf(ghost)) === 1; }

  /** Index into schema.kinds; -1 for a ghost that we do not hold. */
  kindOf(ghost) { return this.#handle === 0 ? -1 : this.#number("pv_client_kind_of", ghostOf(ghost)) | 0; }

  /** NO_GHOST for a root, or one that we do not hold. */
  parentOf(ghost) { return this.#handle === 0 ? NO_GHOST : this.#number("pv_client_parent_of", ghostOf(ghost)); }

  /** [x, y, z] at a tick that may lie between two; zeros for one of which nothing is known. */
  place(ghost, tick) {
    if (this.#handle === 0) return [0, 0, 0];
    const at = this.#exports.pv_client_place(this.#handle, ghostOf(ghost), tick);
    return [...new Float32Array(this.#exports.memory.buffer, at, 3)];
  }

  /**
   * The tick to draw: `behind` ticks behind where the server is at `now` (of performance.now, or what
   * requestAnimationFrame hands out), as far as the arrival of snapshots tells. It goes on evenly between them, also
   * where nothing happens and none come: a countdown counts by viewTick(now, 0).
   */
  viewTick(now = performance.now(), behind = 2) {
    const { tick, at } = this.#arrived;
    if (tick !== this.#clock.heard) {
      // Follows slowly, so that jitter does not show; jumps when it is far off.
      const off = tick - this.#tickAt(at);
      const isFar = Math.abs(off) > Math.max(8, 0.4 * this.tickHz);
      this.#clock = { heard: tick, tick: this.#tickAt(now) + (isFar ? off : off * 0.1), at: now };
    }
    return this.#tickAt(now) - behind;
  }

  #tickAt(now) { return this.#clock.tick + (now - this.#clock.at) / 1000 * this.tickHz; }

  /** The root of its group, itself for a root; NO_GHOST for a ghost that we do not hold. */
  rootOf(ghost) { return this.#handle === 0 ? NO_GHOST : this.#number("pv_client_root_of", ghostOf(ghost)); }

  /** Grids of cells that the server has told of. */
  get cellGridCount() { return this.#number("pv_client_cell_grid_count"); }

  /** The cell of a ghost, the same number as on the server; NO_CELL for none. */
  cellOf(ghost, grid = 0) { return this.#handle === 0 ? NO_CELL : this.#number("pv_client_cell_of", ghostOf(ghost), grid); }

  /** Whether we are told the component; otherwise its values are old, or those of zeros. */
  isTold(ghost, component) {
    checkIndices(component, 0);
    return this.#number("pv_client_is_told", ghostOf(ghost), component) === 1;
  }

  /** How the copy of a ghost that has left is kept; "despawn": it is not. */
  keptAs(ghost) { return LEAVE_POLICIES[this.#number("pv_client_kept_as", ghostOf(ghost))]; }

  /** Everything that was relevant when we joined has arrived. */
  get isViewComplete() { return this.#number("pv_client_is_view_complete") === 1; }

  /** One command for the game: bytes, at most 200; false when it could not be taken, or is none. */
  sendCommand(command) {
    const bytes = bytesOf(command);
    if (this.#state !== "joined" || bytes === null || bytes.length > COMMAND_BYTES_MAX) return false;
    this.#input(bytes);
    return this.#exports.pv_client_send_command(this.#handle, bytes.length) === 1;
  }

  /**
   * A message to the game, reliable and in order: bytes, or a text, which goes as UTF-8. False when it cannot be sent
   * now: we have not joined, or too much waits. A RangeError for what can never be: no bytes, or more than 65,534.
   */
  sendMessage(message) {
    const bytes = bytesOrText(message);
    if (bytes === null) throw new RangeError("a message is a text, or bytes");
    if (bytes.length > MESSAGE_BYTES_MAX) throw new RangeError(`a message has ${MESSAGE_BYTES_MAX} bytes at most, and this one ${bytes.length}`);
    if (this.#state !== "joined") return false;
    const at = this.#exports.pv_client_message_room(this.#handle, bytes.length);
    new Uint8Array(this.#exports.memory.buffer, at, bytes.length).set(bytes);
    return this.#exports.pv_client_send_message(this.#handle, bytes.length) === 1;
  }

  /**
   * Calls the server: a name of `schema.calls`, arguments by name (missing ones are 0, empty, or not turned;
   * numbers are clamped to the range of the schema, texts cut to 31 bytes), and the ghost that it is about, if it is
   * about one. False when it cannot be made now: we have not joined, the ghost has gone or is not ours, or too many
   * calls wait. A RangeError for what can never be, and then nothing of it is kept.
   */
  call(name, values, ghost) {
    if (this.#state !== "joined") return false;
    const { calls } = this.schema;
    const rpc = calls.findIndex((one) => one.name === name && one.toServer);
    if (rpc < 0) {
      const known = calls.filter((one) => one.toServer).map((one) => one.name).join(", ");
      throw new RangeError(`no call to the server is named '${name}', but: ${known || "none"}`);
    }
    const { arguments: names, types, aboutGhost, callers } = calls[rpc];
    if (aboutGhost && !isGhost(ghost)) throw new RangeError(`'${name}' is about a ghost, and ${String(ghost)} is none`);
    if (callers === "players" && this.#options.role !== "player") throw new RangeError(`'${name}' is for players`);
    const unknown = Object.keys(values ?? {}).find((key) => values[key] !== undefined && !names.includes(key));
    if (unknown !== undefined) throw new RangeError(`'${name}' has no argument '${unknown}', but: ${names.join(", ") || "none"}`);
    // All are looked at before the first is given: what the module was given is the next call's.
    const given = names.map((argument, a) => argumentOf(types[a], values?.[argument]));
    given.forEach((value, a) => this.#give(a, types[a], value));
    const numbers = given.map((value, a) => types[a] === "number" ? value : 0);
    const at = this.#exports.pv_client_input(this.#handle);
    new Float64Array(this.#exports.memory.buffer, at, numbers.length).set(numbers);
    return this.#exports.pv_client_call(this.#handle, rpc, ghostOf(ghost), numbers.length) === 1;
  }

  /** An argument of the next call that is no number goes ahead of it. */
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
      this.#loading = null;  // the next connect() tries again
      throw error;
    }
  }

  #imports() {
    // The module asks the system for nothing in normal operation; what the C library may name, fails.
    const refuse = new Proxy({}, { get: (_, name) => () => { throw new Error(`wasm asked for ${String(name)}`); } });
    return { wasi_snapshot_preview1: refuse, env: refuse };
  }

  /** A function of the module; 0 while there is no client. Only pv_client_value is not unsigned. */
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
    // Who has joined may answer what comes with it; until then it waits.
    if (STATES[this.#exports.pv_client_state(this.#handle)] === "joined") this.#followState();
    if (this.#socket !== socket) return;
    if (this.#state === "joined" && !this.#tell([...this.#takeEvents(), ...this.#takeCalls()])) return;
    this.#flush();
    this.#followState();
    if (this.#socket !== socket || !this.#tell(this.#takeMessages())) return;
    // Timers of a page in the background are rare: what arrives is acknowledged without them.
    const late = performance.now() - this.#turnedAt > Math.min(this.#options.turnMs, TURN_MS_MAX);
    if (late || this.#state === "joining") this.#turn();
  }

  #turn() {
    if (this.#socket?.readyState === 0 && performance.now() - this.#triedAt > CONNECT_WITHIN_MS) return this.#lose();
    if (this.#socket === null || this.#socket.readyState !== 1) return;
    this.#turnedAt = performance.now();
    if (!this.#tell([["turn"]])) return;
    this.#exports.pv_client_tick(this.#handle, performance.now());
    if (this.#state === "joined" && !this.#tell(this.#takeCalls())) return;
    this.#flush();
    this.#followState();
  }

  /** News as [name, detail]; false when a listener has left, and then it is the last that is told. */
  #tell(news) {
    const socket = this.#socket;
    for (const [name, detail] of news) {
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

  /** An array of the module, copied: a listener may call anything. */
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
    const tell = (bytes, set) => {
      if (bytes.length === 0) return;
      this.#input(bytes);
      this.#exports[set](this.#handle, bytes.length);
    };
    const room = new Uint8Array(NAME_BYTES_MAX);
    const { written } = new TextEncoder().encodeInto(this.#options.name, room);  // whole characters
    tell(room.subarray(0, written), "pv_client_set_name");
    tell(this.#options.credential, "pv_client_set_credential");
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
    for (const listener of [...listeners]) {  // who is added now hears the next one
      if (!listeners.has(listener)) continue;
      try {
        listener(detail);
      } catch (error) {
        queueMicrotask(() => { throw error; });  // nobody else's loss, and an uncaught error as ever
      }
      if (this.#state !== state) return;  // the listener has left, and all have been told that
    }
  }
}
