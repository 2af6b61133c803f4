// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
import type { RuleNode } from "./operator.mjs";

export interface StepNumber {
  /** "radius", "margin", "rings", or the word before the number. */
  label: string;
  /** "m" or "". */
  unit: string;
  /** Only whole numbers make sense. */
  whole: boolean;
  /** Nothing below makes sense. */
  least: number;
  value: number;
  /** The whole text with this number instead. */
  textWith(value: number): string;
}

export function opOf(text: string): "add" | "subtract" | "require" | "";
/** A number without digits that say nothing. */
export function written(value: number, digits?: number): string;
export function numbersOf(text: string): StepNumber[];
/** The radii of a step that adds what is near; null for others. */
export function circleOf(text: string): { enter: number; leave: number } | null;
/** The circles of the nodes that run and add. */
export function circlesOf(nodes: readonly RuleNode[]): { enter: number; leave: number }[];
/** A slider for it. */
export function rangeFor(number: Pick<StepNumber, "value" | "whole" | "least">): { min: number; max: number; step: number };
