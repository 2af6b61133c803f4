// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
import type { OperatorChannel, RuleNode, Rules, Trial } from "./operator.mjs";

export interface DraftStep { text: string; on: boolean }
export interface DraftNode extends Omit<RuleNode, "steps"> { enabled: boolean; steps: DraftStep[] }

export class RuleDraft {
  constructor(channel: OperatorChannel);
  /** As the server told last; null while there is no channel. */
  readonly running: Rules | null;
  /** What is being edited. Read it; the functions below change it. */
  readonly nodes: readonly DraftNode[];
  /** Sliders and switches apply at once; the default. */
  live: boolean;
  /** The observer of whom a dry run should speak in particular. */
  watched: number | null;
  /** `isAnswer` false: the server has not answered, and rules that were sent may run or not. */
  readonly error: { text: string; isAnswer: boolean; column: number; node: DraftNode | null; step: DraftStep | null } | null;
  readonly trial: Trial | null;
  /** "shown": somebody else set the rules that are shown; "waiting": and our edits are not among them, and wait for apply(). */
  readonly elsewhere: "" | "shown" | "waiting";
  readonly isPending: boolean;
  readonly canRevert: boolean;
  /** The server takes no rules from operators; dry runs it does. */
  readonly isReadOnly: boolean;
  readonly isSending: boolean;
  onChange(listener: () => void): () => void;
  setText(step: DraftStep, text: string): void;
  slide(step: DraftStep, text: string): void;
  switchStep(step: DraftStep, on: boolean): void;
  switchNode(node: DraftNode, enabled: boolean): void;
  moveStep(node: DraftNode, step: DraftStep, by: -1 | 1): boolean;
  addStep(node: DraftNode): DraftStep;
  removeStep(node: DraftNode, step: DraftStep): void;
  restoreText(step: DraftStep): void;
  apply(): Promise<void>;
  revert(): Promise<void>;
  takeRunning(): void;
  tryOut(): Promise<void>;
}
