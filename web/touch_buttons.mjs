// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Buttons over the map, for a finger: board, cloak, fire, and a pad to drive. Each does what its key does.
import { byId, put } from "./dom.mjs";

const FOLLOW_EVERY_MS = 200;

/** Calls `begin` while the button is held by a pointer or a key, then `end`. */
function whileHeld(button, begin, end) {
  const isKey = ({ code }) => code === "Space" || code === "Enter";
  button.addEventListener("pointerdown", (event) => {
    event.preventDefault();  // no selection, and the focus stays
    button.setPointerCapture(event.pointerId);
    begin();
  });
  for (const type of ["pointerup", "pointercancel", "lostpointercapture", "blur"]) button.addEventListener(type, end);
  button.addEventListener("keydown", (event) => { if (isKey(event) && !event.repeat) begin(); });
  button.addEventListener("keyup", (event) => { if (isKey(event)) end(); });
  button.addEventListener("contextmenu", (event) => event.preventDefault());
}

export class TouchButtons {
  constructor(walk, pilot) {
    byId("touch-board").addEventListener("click", () => walk.board());
    byId("touch-cloak").addEventListener("click", () => walk.cloak());
    whileHeld(byId("touch-fire"), () => { if (pilot.isDriving) walk.fires = true; }, () => { walk.fires = false; });
    for (const button of byId("pad").children) {
      const { key } = button.dataset;
      whileHeld(button, () => walk.press(key), () => walk.release(key));
    }
    setInterval(() => {
      const { isDriving } = pilot;
      put(byId("pad"), "hidden", !isDriving);
      put(byId("touch-fire"), "disabled", !isDriving);
      put(byId("touch-board").lastElementChild, "textContent", isDriving ? "get off" : "cart");
      put(byId("touch-cloak"), "ariaPressed", String(walk.isCloaked));
    }, FOLLOW_EVERY_MS);
  }
}
