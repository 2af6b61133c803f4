// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Compiled in strict mode by types_test.mjs, not run: what a page in TypeScript may write, and what it may not.
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
client.on("call", ({ values }) => { const said: Argument | undefined = values["text"]; console.log(said); });
await client.connect();
const { count, floats, words } = client.collect(client.viewTick());
for (let at = 0; at < count * INSTANCE_WORDS; at += INSTANCE_WORDS) console.log(floats[at + INSTANCE.x], words[at + INSTANCE.owned]);
const taken: boolean = client.sendMessage("hello") && client.call("turn", { to: [0, 0, 0, 1], by: 2 });
end();
const is: boolean = client.call("turn", { fast: true, by: undefined }, NO_GHOST);

// @ts-expect-error there is no such event
client.on("entered", () => {});
// @ts-expect-error an observer is a player or a spectator
new PurviewClient(await loadPurview(), { url: "", role: "admin" });
// @ts-expect-error a rotation is an array
client.call("turn", { to: { x: 0, y: 0, z: 0, w: 1 } });
// @ts-expect-error only read
client.newestTick = 5;
// @ts-expect-error undefined before the first connect()
const name: string = client.nonce;
export { is, name, taken };
