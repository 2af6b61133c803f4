// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors

export type FieldType = "number" | "text" | "rotation" | "reference";
export type ClientState = "connecting" | "joining" | "joined" | "refused" | "closed";
export type RefuseReason =
  "none" | "version" | "schema" | "full" | "address_limit" | "expired" | "join" | "shutting_down" | "key";
export type CloseReason =
  "none" | "left" | "timeout" | "malformed" | "kicked" | "shutting_down" | "never_joined" | "lost";
export type Reason =
  "entered" | "spawned" | "owned" | "forced" | "left" | "hidden" | "despawned" | "disconnected" | "promoted";

export const REASONS: readonly Reason[];
/** Words of 32 bits in one instance of `collect()`. */
export const INSTANCE_WORDS: 8;
/** Offsets into an instance, in words. x, y, z are floats, the others unsigned integers. */
export const INSTANCE: Readonly<{
  x: 0; y: 1; z: 2; ghost: 3; kind: 4; parent: 5; owned: 6; updated: 7;
}>;
/** `parent` of a ghost without one. */
export const NO_GHOST: 0xffffffff;
/** `cellOf` of a ghost that is in no cell. */
export const NO_CELL: 0xffffffff;

/** Compiles the module once, from an address, a response or the bytes. */
export function loadPurview(source?: string | URL | Response | ArrayBuffer | Uint8Array): Promise<WebAssembly.Module>;

export interface ClientOptions {
  /** Such as "ws://127.0.0.1:7780/play". */
  url: string;
  /** Default "player". */
  role?: "player" | "spectator";
  /**
   * Name that the game receives with the join request (JoinRequest::name): at most 32 bytes of UTF-8, the rest is
   * cut.
   */
  name?: string;
  /**
   * Credential for the game (JoinRequest::credential): at most 512 bytes, otherwise a RangeError. A text is sent as
   * UTF-8.
   */
  credential?: string | ArrayBufferView | ArrayBuffer;
  /** Send a digest of the whole state with every n-th packet, so that the server can check this client; 0: never. */
  digestEvery?: number;
  /**
   * Time between two turns, in which commands and acknowledgements are sent; default 50. If timers are late, as in a
   * background page, an arriving packet triggers the due turn.
   */
  turnMs?: number;
  /** For platforms without a global WebSocket. */
  WebSocket?: unknown;
}

/** A ghost that entered or left. */
export interface GhostEvent {
  ghost: number;
  /** Index into `schema.kinds`. */
  kind: number;
  /** Reason of the enter, resume or leave. */
  reason: Reason;
  /** What happened to the local copy of the ghost. */
  copy: "made" | "removed" | "kept" | "resumed" | "dropped";
}

/** A ghost with a changed parent or root; NO_GHOST for none. A root is its own root. */
export interface RelationEvent {
  ghost: number;
  oldRoot: number;
  newRoot: number;
  oldParent: number;
  newParent: number;
}

/**
 * A ghost that differs from its state before the datagram. An entered ghost is listed with all its replicated
 * components.
 */
export interface ChangeEvent {
  ghost: number;
  /** Indices into `schema.components`: a value has changed, or whether the component is replicated. */
  components: number[];
  /** The ghost may have become owned or not owned, or is new: see `owned` of `INSTANCE`. */
  ownerChanged: boolean;
}

/** An argument of a call: a number, a text, or a rotation as x, y, z, w. */
export type Argument = number | string | [number, number, number, number];

/** A call from the server, reported after the property changes that arrived with it. */
export interface RemoteCall {
  /** Name in `schema.calls`. */
  name: string;
  /** The target ghost, or NO_GHOST. */
  ghost: number;
  /** The call arrived in time, but its ghost has left since: `ghost` is NO_GHOST. */
  ghostLeft: boolean;
  /** Arguments by name. */
  values: Record<string, Argument>;
}

export interface Instances {
  count: number;
  /** The same memory as floats and as unsigned words. Valid until the next call of any function. */
  floats: Float32Array;
  words: Uint32Array;
}

export interface ClientStats {
  bytesSent: number;
  bytesReceived: number;
  packetsReceived: number;
  packetsLate: number;
  packetsMalformed: number;
  packetsLost: number;
  orderViolations: number;
  /** Smoothed; 0: not yet known. */
  rttMs: number;
}

export class PurviewClient {
  constructor(module: WebAssembly.Module, options: ClientOptions);
  /** Random identifier of the last `connect`, 16 hexadecimal digits; undefined before it. */
  nonce: string | undefined;
  /**
   * An exception in one listener does not affect the others; it is reported as uncaught. A listener added during an
   * event is first called for the next one. A removed listener is not called again.
   */
  on(name: "state", listener: (state: ClientState) => void): () => void;
  /** "drop": a retained ghost ends. During "leave" and "drop", the ghost's last state can still be read. */
  on(name: "enter" | "leave" | "drop", listener: (event: GhostEvent) => void): () => void;
  /**
   * The ghost or its group was attached, detached or moved. Called after the enters and leaves of the same packet.
   */
  on(name: "relation", listener: (event: RelationEvent) => void): () => void;
  /**
   * Called once per changed ghost and datagram, after its enters and leaves; changes from before "joined" are
   * combined. Cheap without listeners.
   */
  on(name: "change", listener: (event: ChangeEvent) => void): () => void;
  /** Called once per connection: everything that was relevant when the observer became ready has arrived. */
  on(name: "viewComplete", listener: () => void): () => void;
  on(name: "call", listener: (call: RemoteCall) => void): () => void;
  /** Data sent by the server's game with `Server::send_message`, in order. */
  on(name: "message", listener: (bytes: Uint8Array) => void): () => void;
  /** Called once per turn, before due data is sent. */
  on(name: "turn", listener: () => void): () => void;
  /**
   * Opens a new connection with an empty world. Canceled by `leave` or another `connect`: only the last one counts.
   * Resolves when the socket starts to open, even if there is no server: wait for the state "joined". Rejects if the
   * module or the socket cannot be created; the state is then "closed".
   */
  connect(): Promise<void>;
  /**
   * Ends the connection, or a pending `connect`. No further events are reported. Messages and calls since about the
   * last turn may be lost: if that matters, wait for a reply of the game before leaving.
   */
  leave(): void;
  readonly state: ClientState;
  /**
   * For a module with additional functions besides those of purview.h. `exports`: undefined before the first
   * `connect`.
   */
  readonly native: { exports: WebAssembly.Exports | undefined; handle: number };
  readonly refuseReason: RefuseReason;
  /** "lost": the socket could not be created, or ended without a message of the server. */
  readonly closeReason: CloseReason;
  /** Reason text of the server's game for a refusal or close, cut to 120 bytes of UTF-8; "": none. */
  readonly reasonText: string;
  readonly tickHz: number;
  /** Tick of the newest snapshot. In an idle world there may be no snapshot for 256 ticks: see `viewTick`. */
  readonly newestTick: number;
  readonly newestPacket: number;
  readonly ghostCount: number;
  readonly worldName: string;
  readonly schema: {
    kinds: string[];
    /** `types`: types of the fields, which select `value`, `text` and so on. */
    components: { name: string; fields: string[]; types: FieldType[] }[];
    /**
     * `types`: types of the arguments. `callers`: clients that may make a call to the server; "owner" is the owner of
     * the ghost.
     */
    calls: {
      name: string; toServer: boolean; aboutGhost: boolean; callers: "anybody" | "owner" | "players";
      arguments: string[]; types: Exclude<FieldType, "reference">[];
    }[];
  };
  readonly stats: ClientStats;
  /**
   * Returns the server tick to draw at `now`: `behind` (2) ticks before the server's current tick, as estimated from
   * the arrival of snapshots. Advances steadily between snapshots, also in an idle world, where none may arrive for
   * 256 ticks. `now`: performance.now(), or the argument of a requestAnimationFrame callback. Use viewTick(now, 0)
   * for countdowns. Returns `-behind` until the server's tick rate is known.
   */
  viewTick(now?: number, behind?: number): number;
  /** All ghosts at a server tick, which may be fractional. */
  collect(tick: number): Instances;
  /**
   * Returns a field by its names, with the type of the field: a number, a text, a rotation, or the ghost of a
   * reference. If the ghost is unknown or lacks the component, returns 0, "", the identity rotation or NO_GHOST.
   * Throws a RangeError for unknown names. A value that is no ghost id (undefined, null, a text) is treated as an
   * unknown ghost, here and below.
   */
  get(ghost: number, component: string, field: string): number | string | [number, number, number, number];
  /** Reads by the indices of `schema`, like the next three functions. Throws a RangeError for an invalid index. */
  value(ghost: number, component: number, field: number): number;
  text(ghost: number, component: number, field: number): string;
  /** x, y, z, w. */
  rotation(ghost: number, component: number, field: number): [number, number, number, number];
  /** World orientation at a tick: x, y, z, w. */
  orientation(ghost: number, tick: number): [number, number, number, number];
  /** The referenced ghost, or NO_GHOST. */
  reference(ghost: number, component: number, field: number): number;
  /** The root of its group, itself for a root, or NO_GHOST. */
  rootOf(ghost: number): number;
  isOwned(ghost: number): boolean;
  /** Index into schema.kinds; -1: unknown ghost. */
  kindOf(ghost: number): number;
  /** NO_GHOST for a root, or for an unknown ghost. */
  parentOf(ghost: number): number;
  /** x, y, z at a tick, which may be fractional; zeros for an unknown ghost. */
  position(ghost: number, tick: number): [number, number, number];
  readonly cellGridCount: number;
  /** Cell index, equal to the server's, or NO_CELL. `grid`: default 0. */
  cellOf(ghost: number, grid?: number): number;
  isReplicated(ghost: number, component: number): boolean;
  retention(ghost: number): "despawn" | "freeze" | "stale" | "deactivate";
  readonly isViewComplete: boolean;
  sendCommand(bytes: ArrayBufferView | ArrayBuffer): boolean;
  /**
   * Sends a message to the game (`Game::message`), reliable and ordered: bytes, or a text, which is sent as UTF-8.
   * Returns false if it cannot be sent now (not joined, or too much is queued). Throws a RangeError for an invalid
   * message: not bytes, or more than 65,534.
   */
  sendMessage(message: ArrayBufferView | ArrayBuffer | string): boolean;
  /**
   * Calls the server; see `schema.calls`. `ghost` is only for a call with a target ghost. Returns false if the call
   * cannot be made now (not joined, the ghost has left or is not owned, too many calls are queued). Throws a
   * RangeError for an invalid call, and then sends nothing: an unknown call or argument, a missing ghost id, a call
   * for players by a spectator, a value that is not a number, a rotation without four numbers. Numbers are clamped to
   * the range of the schema, and booleans to 1 or 0; texts are cut at the size of their field, 31 bytes at most.
   */
  call(name: string, values?: Record<string, Argument | boolean | undefined>, ghost?: number): boolean;
}
