// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Valid and invalid uses of client.mjs in TypeScript. types_test.mjs compiles this file in strict mode and does not run
// it.
import {
  INSTANCE, INSTANCE_WORDS, loadPurview, NO_GHOST, PurviewClient,
  type Argument, type ClientState, type GhostEvent,
} from "../../web/client.mjs";

const role: "player" | undefined = undefined;
const client = new PurviewClient(await loadPurview("./purview_client.wasm"), {
  url: "ws://127.0.0.1:7780/play", name: "Ada", role, credential: new ArrayBuffer(8),
});
client.on("state", (state: ClientState) => { if (state === "refused") console.log(client.refuseReason); });
const end: () => void = client.on("enter", ({ ghost, kind, copy }: GhostEvent) => {
  console.log(ghost === NO_GHOST, client.schema.kinds[kind], copy === "made");
});
client.on("call", ({ values }) => { const text: Argument | undefined = values["text"]; console.log(text); });
await client.connect();
const { count, floats, words } = client.collect(client.viewTick());
for (let at = 0; at < count * INSTANCE_WORDS; at += INSTANCE_WORDS) console.log(floats[at + INSTANCE.x], words[at + INSTANCE.owned]);
const sent: boolean = client.sendMessage("hello") && client.call("turn", { to: [0, 0, 0, 1], by: 2 });
end();
const called: boolean = client.call("turn", { fast: true, by: undefined }, NO_GHOST);

// @ts-expect-error there is no such event
client.on("entered", () => {});
// @ts-expect-error a client is a player or a spectator
new PurviewClient(await loadPurview(), { url: "", role: "admin" });
// @ts-expect-error a rotation is an array
client.call("turn", { to: { x: 0, y: 0, z: 0, w: 1 } });
// @ts-expect-error newestTick is read-only
client.newestTick = 5;
// @ts-expect-error nonce is undefined before the first connect()
const name: string = client.nonce;
export { called, name, sent };
