// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The operator channel as described in docs/operator.md.

/** A node of the rules, in the form that the server sends and accepts. */
export interface RuleNode {
  name: string;
  /** Texts such as "add within 60 leave 66", in order. */
  steps: string[];
  type?: string;
  members?: string;
  combine?: string;
  refresh?: string;
  /** Payload mode: docs/shared.md. */
  mode?: string;
  widen_m?: number;
  lazy_leave?: boolean;
  /** Default true. */
  enabled?: boolean;
  priority?: number;
  every_ticks?: number;
  /** Retention of the ghost of an entity that leaves. */
  leave?: string;
}

export interface Rules {
  op: "rules";
  /** Incremented by every change, from any source. */
  revision: number;
  /** False: the server refuses set_rules. */
  editable?: boolean;
  nodes: RuleNode[];
  warnings: string[];
  /** Names that steps may use. */
  names: { flags: string[]; keys: string[]; values: string[]; kernels?: string[]; sight?: boolean };
}

export interface Trial {
  op: "try_rules";
  /** Pairs of observer and entity that become relevant, summed over all observers. */
  gains: number;
  losses: number;
  /** Observers with the most changes; observers not listed have few or none. */
  observers: { observer: number; gains: number; losses: number }[];
  /**
   * Number of evaluated ready clients, in order of index. The rest is skipped if the change is too large to
   * evaluate all.
   */
  evaluated: number;
  skipped: number;
  /** Sum of relevant entities of the evaluated observers, with the current rules and with these. */
  pairs_now: number;
  pairs_then: number;
  warnings: string[];
}

export interface Refusal {
  op: "error";
  text: string;
  /** The refused request. */
  about?: string;
  /** The rules were based on an outdated revision; this is the current one. */
  revision?: number;
  /** Position of the error in the rules: indices, and a column in the step's text, starting at 1. */
  node?: number;
  /** A key of the node, such as "refresh". */
  key?: string;
  step?: number;
  column?: number;
}

export interface EntityAt {
  /** Decimal, because 64 bits do not fit a number. */
  entity: string;
  index: number;
  /** Name of its kind. */
  kind: string;
  x: number;
  y: number;
  /** The observer with this entity as its main entity. */
  observer: number | null;
}

export interface Explanation {
  op: "explain";
  tick: number;
  observer: number;
  entity_text: string;
  index: number;
  relevant: boolean;
  /** Index of the root that was evaluated for the entity. */
  unit: number;
  /** No node matches any more, but the minimum relevance time has not passed. */
  held: boolean;
  /** The deciding stage, such as "owned" or "a node matches". */
  stage: string;
  /** Index of the hidden group member that also hides this entity. */
  hidden_member: number | null;
  /** Index of the independently culled member below it that nodes show; stage is "promoted". */
  promoted_by: number | null;
  nodes: {
    name: string;
    /** False: the node does not apply to this entity, and its result is false. */
    member: boolean;
    /** How the result combines with that of the previous nodes. */
    combine: "add" | "subtract" | "require";
    result: boolean;
    /** `answer` null: unknown. `so_far`: the node's result after this step. */
    steps: { op: "add" | "subtract" | "require"; what: string; answer: boolean | null; so_far: boolean }[];
  }[];
  /** The most generous settings of the matching nodes, with the name of the first node that has each. */
  settings: {
    every_ticks: number; every_ticks_by: string; priority: number; priority_by: string; leave: string; leave_by: string;
  };
  /** False: it is unknown which changes would reverse the result. */
  are_changes_known: boolean;
  /** Pending node evaluations, or the end of a minimum relevance time or of an area, may reverse the result. */
  changes_by_itself: boolean;
  /** Each of these changes alone would reverse the result. */
  single: string[];
  /** Or these two changes together. */
  pair: string[];
  text: string;
}

export interface ServerStats {
  op: "stats";
  tick: number;
  entities: number;
  enters: number;
  leaves: number;
  bytes_sent: number;
  bytes_received: number;
  drops: number;
  rules_revision: number;
  sessions: {
    observer: number; role: "player" | "spectator"; carrier: "udp" | "websocket"; relevant: number; backlog: number;
    bytes_sent: number; bytes_received: number; packets_lost: number; rtt_us: number; enters: number; leaves: number;
    budget_bytes_per_tick: number;
  }[];
}

export interface TruthFrame {
  tick: number;
  count: number;
  /** Three words per entity: x, y, then kind and flags of 16 bits each. Both views use the same memory. */
  floats: Float32Array;
  words: Uint16Array;
}

export interface HeldReport { op: "held"; packet: number; tick: number; relevant: number; backlog: number; leaves: number }

export class OperatorChannel {
  constructor(url: string);
  readonly isOpen: boolean;
  on(name: "open" | "closed", listener: () => void): () => void;
  on(name: "truth", listener: (frame: TruthFrame) => void): () => void;
  on(name: "held", listener: (report: HeldReport) => void): () => void;
  on(name: "rules", listener: (rules: Rules) => void): () => void;
  open(): Promise<void>;
  close(): void;
  ask(request: { op: "stats" }): Promise<ServerStats | Refusal>;
  ask(request: { op: "find"; nonce: string }): Promise<{ op: "found"; observer: number | null } | Refusal>;
  ask(request: { op: "rules" }): Promise<Rules | Refusal>;
  /**
   * With `revision`, refused if another revision is in force. Without `force`, refused if the rules make too many
   * entities relevant.
   */
  ask(request: { op: "set_rules"; nodes: RuleNode[]; revision?: number; force?: boolean }): Promise<Rules | Refusal>;
  ask(request: { op: "try_rules"; nodes: RuleNode[]; observer?: number | null }): Promise<Trial | Refusal>;
  ask(request: { op: "members"; node: string }): Promise<{ op: "members"; node: string; count: number; entities: { entity: string; index: number; kind: string }[] } | Refusal>;
  ask(request: { op: "at"; x: number; y: number; radius_m: number }): Promise<{ op: "at"; entities: EntityAt[] } | Refusal>;
  ask(request: { op: "explain"; observer: number; entity: string | number }): Promise<Explanation | Refusal>;
  tell(request: { op: "held"; observer: number } | { op: "truth"; on: boolean; rect: [number, number, number, number] }): void;
}
