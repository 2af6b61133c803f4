// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The type declarations are next to their modules, compile in strict mode, and match the exports:
//   node types_test.mjs WEB_DIRECTORY
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { packageOf } from "./packages.mjs";

const [web] = process.argv.slice(2);
const ts = packageOf("typescript");
const check = fileURLToPath(new URL("types_check.mts", import.meta.url));
const typed = readdirSync(web).filter((name) => name.endsWith(".d.mts"));
assert.ok(typed.includes("client.d.mts"));
assert.deepEqual(readdirSync(web).filter((name) => name.endsWith(".d.ts")), [], "compilers do not find .d.ts files for .mjs modules");

const program = ts.createProgram([check, ...typed.map((name) => join(web, name))], {
  strict: true, noEmit: true, skipLibCheck: false, target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext,
  lib: ["lib.es2022.d.ts", "lib.dom.d.ts"], types: [], noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: false,
});
const wrong = ts.getPreEmitDiagnostics(program);
assert.equal(ts.formatDiagnostics(wrong, { getCanonicalFileName: (f) => f, getCurrentDirectory: () => web, getNewLine: () => "\n" }), "");

// Each declared class or value exists in the module, with the same members, and vice versa.
const checker = program.getTypeChecker();
let members = 0;
for (const name of typed) {
  const module = await import(pathToFileURL(join(web, name.replace(".d.mts", ".mjs"))));
  const symbols = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(join(web, name))));
  const values = symbols.filter((symbol) => symbol.flags & ts.SymbolFlags.Value);
  assert.deepEqual(values.map((symbol) => symbol.name).sort(), Object.keys(module).sort(), name);
  for (const symbol of values.filter(({ flags }) => flags & ts.SymbolFlags.Class)) {
    const declared = [...symbol.members.keys()].map(String).filter((member) => !member.startsWith("__"));
    const { prototype } = module[symbol.name];
    const present = Object.getOwnPropertyNames(prototype).filter((member) => member !== "constructor");
    const missing = present.filter((member) => !declared.includes(member));
    assert.deepEqual(missing, [], `members of ${symbol.name} that its types lack`);
    // Members set in a constructor or a method occur only in the source of the class.
    const source = module[symbol.name].toString();
    const absent = declared.filter((member) => !present.includes(member) && !source.includes(`this.${member} =`) &&
                                               !new RegExp(`^  ${member}( =|;)`, "m").test(source));
    assert.deepEqual(absent, [], `members of its types that ${symbol.name} lacks`);
    members += declared.length;
  }
}
assert.ok(members > 40, `only ${members} members`);
console.log(`${typed.length} modules, ${members} members of classes`);
