/** The programs of docs/react.md compile with the package as it is installed. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { EmptyProject } from "../client/support/project.ts";
import { run } from "./support/child.ts";
import { blocks, PROJECT } from "./support/page.ts";

setDefaultTimeout(60_000);

test("every program compiles", async () => {
  const project = await EmptyProject.withBuild();
  project.link("react", "react-dom", "@types/react", "@types/react-dom", "csstype");
  const programs = blocks("docs/react.md").filter(({ language }) => language === "tsx");
  for (const [at, { text }] of programs.entries()) project.write(`${at}.tsx`, text);
  const compilerOptions = {
    target: "ES2022",
    module: "Preserve",
    moduleResolution: "bundler",
    lib: ["ES2022", "DOM"],
    types: [],
    jsx: "react-jsx",
    strict: true,
    noEmit: true,
  };
  project.write("tsconfig.json", JSON.stringify({ compilerOptions }));
  const { code, out } = await run([join(PROJECT, "node_modules/.bin/tsc")], { cwd: project.folder });
  project.remove();
  expect([programs.length, code, out]).toEqual([3, 0, ""]);
});
