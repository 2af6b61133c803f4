// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Day or night: as the system prefers, until the visitor chooses with the button.
import { DAY, NIGHT } from "./palette.mjs";
import { setting, store } from "./settings.mjs";

const DARK = "(prefers-color-scheme: dark)";

export class Daylight {
  #button;
  #sheet;
  #listener;
  #preferred = matchMedia(DARK);

  /**
   * `button`: toggles day and night. `sheet`: the link of the style sheet with the night colors. Calls
   * `listener(palette)` now and after each change.
   */
  constructor(button, sheet, listener) {
    this.#button = button;
    this.#sheet = sheet;
    this.#listener = listener;
    button.addEventListener("click", () => this.choose(this.isNight ? "day" : "night"));
    this.#preferred.addEventListener("change", () => this.#show());
    this.#show();
  }

  get isNight() {
    const chosen = setting("light");
    return chosen === null ? this.#preferred.matches : chosen === "night";
  }

  /** "day" or "night"; null: as the system prefers. */
  choose(light) {
    store("light", light);
    this.#show();
  }

  #show() {
    const { isNight } = this;
    this.#sheet.media = isNight ? "all" : "not all";
    this.#button.textContent = isNight ? "☀" : "☾";
    this.#button.ariaLabel = this.#button.title = isNight ? "Show the day" : "Show the night";
    this.#listener(isNight ? NIGHT : DAY);
  }
}
