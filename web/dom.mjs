// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Elements of the page, made and found.

export const byId = (id) => document.getElementById(id);

/** make("b", {className: "x", onclick, ariaLabel: "y"}, child or text ...) */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  Object.assign(element, properties);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Sets a property only where it differs, so that nothing is laid out for nothing. */
export function put(element, name, value) {
  if (element[name] !== value) element[name] = value;
}

/** 1234567 as "1,234,567". */
export const grouped = (number) => Math.round(number).toLocaleString("en");
