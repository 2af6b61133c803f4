// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Reconnects when a connection has ended: soon after a loss, with increasing delay after temporary refusals, and not
// after other refusals, an own leave or a kick.

const SOON_MS = 1000;
const WAIT_MS_MAX = 30_000;

const REFUSALS = {
  version: "This page is for another version of the server. Please reload it.",
  schema: "The server now runs another world. Please reload this page.",
  key: "The server accepts encrypted connections only.",
};
const TEMPORARY_REFUSALS = {
  full: "The server is full",
  address_limit: "Too many connections from your address",
  shutting_down: "The server is shutting down",
};

const ENDS = {
  lost: "the server closed it or cannot be reached",
  timeout: "the server sends nothing",
};

export class Reconnect {
  #client;
  #show;
  #timer;
  #waitMs = SOON_MS;
  #first = "";   // why the connection first ended; "" once joined, and after the last try
  #since = "";   // the newest later reason from the server

  /** `show(text)` displays the connection state; "" once the client has joined. */
  constructor(client, show) {
    this.#client = client;
    this.#show = show;
    client.on("state", (state) => this.#follow(state));
  }

  #follow(state) {
    clearTimeout(this.#timer);
    if (state === "joined") {
      this.#waitMs = SOON_MS;
      this.#first = this.#since = "";
      this.#show("");
    } else if (state === "closed" && this.#client.closeReason === "left") {
      this.#show("You have left.");
    } else if (state === "closed" && this.#client.closeReason === "kicked") {
      this.#end(this.#because("You were disconnected by the game"));
    } else if (state === "closed") {
      const { closeReason, reasonText } = this.#client;
      const isSilence = reasonText === "" && (closeReason === "lost" || closeReason === "timeout");
      this.#note(endOf(closeReason, reasonText), isSilence);
      this.#retry("trying again …", SOON_MS);
    } else if (state === "refused") {
      this.#followRefusal(this.#client.refuseReason);
    }
  }

  #followRefusal(reason) {
    if (reason === "join") return this.#end(this.#because("The game refused the join"));
    if (!(reason in TEMPORARY_REFUSALS)) return this.#end(REFUSALS[reason] ?? `The server refused: ${reason}`);
    this.#note(TEMPORARY_REFUSALS[reason]);
    this.#retry(`trying again in about ${this.#waitMs / 1000} s …`, this.#waitMs);
    this.#waitMs = Math.min(this.#waitMs * 2, WAIT_MS_MAX);
  }

  /** The first reason stays. Later reasons from the server follow it; later silence adds nothing. */
  #note(why, isSilence = false) {
    if (this.#first === "") this.#first = why;
    else if (!isSilence) this.#since = why === this.#first ? "" : why;
  }

  /** There are no more tries. A later connection starts with no earlier reasons. */
  #end(why) {
    this.#note(why);
    this.#show(this.#since === "" ? why : `${this.#first}. Since then: ${why}`);
    this.#first = this.#since = "";
  }

  #retry(what, ms) {
    this.#show(`${this.#first}${this.#since === "" ? "" : `. Since then: ${this.#since}`}; ${what}`);
    this.#connectIn(ms);
  }

  /** `what`, followed by the game's reason text. */
  #because(what) {
    const why = this.#client.reasonText;
    return why === "" ? `${what}.` : `${what}: ${why}${/[.!?…]$/.test(why) ? "" : "."}`;
  }

  /**
   * Random delay around `ms`, so that many clients of a restarted server do not reconnect at once. connect() reports
   * failures by its state.
   */
  #connectIn(ms) { this.#timer = setTimeout(() => this.#client.connect().catch(() => {}), ms * (0.5 + Math.random())); }
}

/** Returns the end of a connection as text. */
function endOf(reason, text) {
  const what = reason === "shutting_down" ? "The server has stopped" : "Connection lost";
  const why = text || (reason === "shutting_down" ? "" : ENDS[reason] ?? reason);
  return why === "" ? what : `${what} (${why})`;
}
