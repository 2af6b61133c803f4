// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Connects again whenever a connection has ended: soon after a loss, ever later after refusals that may
// pass, and not after the others, nor where we have left or the game has thrown us out.

const SOON_MS = 1000;
const WAIT_MS_MAX = 30_000;

const REFUSALS = {
  version: "This page is for another version of the server. Please reload it.",
  schema: "This page is for another world than the server's. Please reload it.",
};
const PASSING_REFUSALS = {
  full: "The server is full",
  address_limit: "Too many players come from your address",
  shutting_down: "The server is shutting down",
};

export class Reconnect {
  #client;
  #say;
  #timer;
  #waitMs = SOON_MS;
  #why = "";  // what the server said last; "" once the client has joined

  /** `say(text)` tells whoever waits how it stands; "" once the client has joined. */
  constructor(client, say) {
    this.#client = client;
    this.#say = say;
    client.on("state", (state) => this.#follow(state));
  }

  #follow(state) {
    clearTimeout(this.#timer);
    if (state === "joined") {
      this.#waitMs = SOON_MS;
      this.#why = "";
      this.#say("");
    } else if (state === "closed" && this.#client.closeReason === "left") {
      this.#say("You have left.");
    } else if (state === "closed" && this.#client.closeReason === "kicked") {
      this.#say(this.#because("The world has sent you away"));
    } else if (state === "closed") {
      this.#note(this.#client.closeReason, this.#client.reasonText);
      this.#say(`${this.#why}; trying again …`);
      this.#connectIn(SOON_MS);
    } else if (state === "refused") {
      this.#followRefusal(this.#client.refuseReason);
    }
  }

  /** That nobody answers is news only where the server has not said why before. */
  #note(closeReason, reasonText) {
    const isSilence = reasonText === "" && (closeReason === "lost" || closeReason === "timeout");
    if (isSilence && this.#why !== "") return;
    const what = closeReason === "shutting_down" ? "The server has stopped" : "Connection lost";
    const why = reasonText || (closeReason === "shutting_down" ? "" : closeReason);
    this.#why = why === "" ? what : `${what} (${why})`;
  }

  #followRefusal(reason) {
    if (reason === "join") return this.#say(this.#because("The world does not let you in"));
    if (!(reason in PASSING_REFUSALS)) return this.#say(REFUSALS[reason] ?? `The server refused: ${reason}`);
    this.#why = PASSING_REFUSALS[reason];
    this.#say(`${this.#why}; trying again in about ${this.#waitMs / 1000} s …`);
    this.#connectIn(this.#waitMs);
    this.#waitMs = Math.min(this.#waitMs * 2, WAIT_MS_MAX);
  }

  /** `what`, and what the game has said about it. */
  #because(what) {
    const why = this.#client.reasonText;
    return why === "" ? `${what}.` : `${what}: ${why}${/[.!?…]$/.test(why) ? "" : "."}`;
  }

  /** About then: a thousand pages that lost their server at once do not come back at once. Its state tells how. */
  #connectIn(ms) { this.#timer = setTimeout(() => this.#client.connect().catch(() => {}), ms * (0.5 + Math.random())); }
}
