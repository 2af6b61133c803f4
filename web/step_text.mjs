// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The numbers in the text of a step, each with a name and a function that returns the text with another number. Knows
// the words of docs/world-file.md; a number after an unknown option is named by that option. Only the server
// validates texts. Types: step_text.d.mts.

const METERS = { unit: "m", whole: false, least: 0.01 };
const COUNT = { unit: "", whole: true, least: 0 };
/** The word before a number, and its meaning. */
const NAMES = {
  within: { ...METERS, label: "radius" },
  leave: { ...METERS, label: "margin" },
  hexagons: { ...METERS, label: "cell side" },
  rings: { ...COUNT, label: "rings" },
  tests: { ...COUNT, label: "tests/tick", least: 1 },
  grace: { ...COUNT, label: "grace, ticks", least: 2 },
  from: { label: "from" },
  to: { label: "to" },
};
const SIDES = { neighborhood: ["width", "height", "depth"], hexagons: ["cell side", "depth"] };
/** Kernels with numbers; after any other word, numbers have no meaning. */
const KERNELS = new Set(["within", "value", "area", "neighborhood", "hexagons", "sight", "kernel"]);
const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;
const SIZE = /^\d+(\.\d+)?(x\d+(\.\d+)?){1,2}$/;

/** "add", "subtract", "require", or "" for any other text. */
export function opOf(text) {
  return /^\s*(add|subtract|require)(\s|$)/.exec(text)?.[1] ?? "";
}

/** At most `digits` decimals, without trailing zeros. */
export function written(value, digits = 2) { return String(Number(value.toFixed(digits))); }

/**
 * Returns [{label, unit, whole, least, value, textWith(value)}] in text order. Changing a radius keeps its margin
 * (the difference between `within` and `leave`). A step that may have a margin and has none gets a margin of 0.
 */
export function numbersOf(text) {
  const words = [...text.matchAll(/'(?:[^']|'')*'|\S+/g)].map(({ 0: word, index }) => ({ text: word, at: index, end: index + word.length }));
  const isNumber = (i) => i < words.length && NUMBER.test(words[i].text);
  /** The text with non-overlapping edits [{at, end, text}] applied. */
  const edited = (...edits) => edits.sort((a, b) => b.at - a.at)
    .reduce((result, edit) => result.slice(0, edit.at) + edit.text + result.slice(edit.end), text);
  const withWord = (i, value) => ({ at: words[i].at, end: words[i].end, text: written(value) });
  const numbers = [];
  if (opOf(text) === "" || !KERNELS.has(words[1]?.text)) return numbers;
  for (let i = 2; i < words.length; ++i) {
    const before = words[i - 1].text;
    const labels = SIDES[before] ?? [];
    const sides = SIZE.test(words[i].text) ? words[i].text.split("x") : [];
    if (sides.length > 0 && sides.length <= labels.length) {
      sides.forEach((side, s) => numbers.push({
        ...METERS, label: labels[s], value: Number(side),
        textWith: (v) => edited({ ...words[i], text: sides.map((other, o) => (o === s ? written(v) : other)).join("x") }),
      }));
    } else if (before === "within" && i === 2 && isNumber(i)) {
      numbers.push(...radiusAndMargin(i));
    } else if (isNumber(i) && !(before === "leave" && words[1].text === "within")) {
      const value = Number(words[i].text);
      numbers.push({ unit: "", whole: false, least: -Infinity, ...(NAMES[before] ?? { label: before }), value, textWith: (v) => edited(withWord(i, v)) });
    }
  }
  return numbers;

  function radiusAndMargin(i) {
    const radius = Number(words[i].text);
    const l = words.findIndex((word, k) => k > i && word.text === "leave" && isNumber(k + 1));
    const margin = l < 0 ? 0 : Number(words[l + 1].text) - radius;
    const textWith = (r, m) => {
      if (l >= 0 && m > 0) return edited(withWord(i, r), withWord(l + 1, r + m));
      if (l >= 0) return edited(withWord(i, r), { at: words[l - 1].end, end: words[l + 1].end, text: "" });
      return edited({ ...words[i], text: m > 0 ? `${written(r)} leave ${written(r + m)}` : written(r) });
    };
    return [
      { ...NAMES.within, value: radius, textWith: (v) => textWith(v, margin) },
      { ...METERS, label: "margin", least: 0, value: margin, textWith: (v) => textWith(radius, v) },
    ];
  }
}

/**
 * For an add step with a range, returns {enter, leave}: the radii at which entities enter and leave. Null for others.
 * Sight has one radius.
 */
export function circleOf(text) {
  if (opOf(text) !== "add") return null;
  const [radius, margin] = numbersOf(text);
  if (radius?.label !== "radius") return null;
  return { enter: radius.value, leave: radius.value + (margin?.label === "margin" ? margin.value : 0) };
}

/** The circles of enabled nodes that add. */
export function circlesOf(nodes) {
  return nodes.filter(({ enabled = true, combine = "add" }) => enabled && combine === "add")
    .flatMap(({ steps }) => steps.map((text) => circleOf(text))).filter((circle) => circle !== null);
}

/** Returns the range of a slider for a number with the current `value`: {min, max, step}. */
export function rangeFor({ value, whole, least }) {
  if (whole) return { min: Math.max(0, least), max: Math.max(8, 2 * value), step: 1 };
  const wanted = Math.max(Math.abs(value) * 4, 1);
  const unit = 10 ** Math.floor(Math.log10(wanted));
  const max = Math.ceil(wanted / unit - 1e-9) * unit;
  const step = Math.max(0.01, 10 ** Math.floor(Math.log10(max / 300 + 1e-12)));
  return { min: value < 0 ? -max : least > 0 ? Math.max(step, least) : 0, max, step };
}
