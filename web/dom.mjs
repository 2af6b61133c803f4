// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Helpers to create and find elements of the page.

export const byId = (id) => document.getElementById(id);

/** make("b", {className: "x", onclick, ariaLabel: "y"}, child or text ...) */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  Object.assign(element, properties);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Sets a property only if it differs, to avoid needless layout. */
export function put(element, name, value) {
  if (element[name] !== value) element[name] = value;
}

/**
 * Makes the children of `parent` equal to `made` and changes only what differs, so that selections and screen readers
 * are not disturbed.
 */
export function renew(parent, made) {
  const old = [...parent.childNodes];
  made.forEach((child, i) => {
    if (old[i] === undefined) parent.append(child);
    else if (!old[i].isEqualNode(child)) renewOne(old[i], child);
  });
  for (const child of old.slice(made.length)) child.remove();
}

function renewOne(node, made) {
  if (node.nodeName !== made.nodeName) return node.replaceWith(made);
  if (node.nodeType === Node.TEXT_NODE) { node.data = made.data; return; }
  for (const { name } of [...node.attributes]) if (!made.hasAttribute(name)) node.removeAttribute(name);
  for (const { name, value } of made.attributes) if (node.getAttribute(name) !== value) node.setAttribute(name, value);
  renew(node, [...made.childNodes]);
}

/** 1234567 as "1,234,567". */
export const grouped = (number) => Math.round(number).toLocaleString("en");

/** counted(1, "pair") as "1 pair", counted(2, "pair") as "2 pairs". */
export const counted = (number, one, many = `${one}s`) => `${grouped(number)} ${Math.round(number) === 1 ? one : many}`;
