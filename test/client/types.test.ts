/** The package's types, as the compiler of an application reads them from the installed package. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EmptyProject, PROJECT } from "./support/project.ts";

setDefaultTimeout(60_000);

const TYPES = join(PROJECT, "client/types");
const TSC = join(PROJECT, "node_modules/.bin/tsc");
const ES2022 = { target: "ES2022", lib: ["ES2022"], types: [] };

interface Kind {
  readonly name: string;
  readonly options: object;
  readonly files: readonly string[];
}

const KINDS: readonly Kind[] = [
  {
    name: "a bundler",
    options: { ...ES2022, module: "Preserve", moduleResolution: "bundler", lib: ["ES2022", "DOM"] },
    files: ["good.ts", "bad.ts", "good-dom.ts"],
  },
  {
    name: "React",
    options: { ...ES2022, module: "Preserve", moduleResolution: "bundler", lib: ["ES2022", "DOM"], jsx: "react-jsx" },
    files: ["good-react.tsx", "bad-react.tsx"],
  },
  {
    name: "Node, without types of the DOM or of Node",
    options: { ...ES2022, module: "Node16", moduleResolution: "node16", lib: ["ES2020"] },
    files: ["good.ts", "bad.ts"],
  },
  {
    name: "Node, with the types of Node and of ws",
    options: { ...ES2022, module: "NodeNext", moduleResolution: "nodenext", types: ["node"], skipLibCheck: true },
    files: ["good.ts", "good-ws.ts"],
  },
];

let project: EmptyProject;

beforeAll(async () => {
  project = await EmptyProject.withBuild();
  project.link("ws", "@types/ws", "@types/node", "react", "@types/react");
});

afterAll(() => project?.remove());

/** `file:line code` of every error. The declarations of the package are checked too, except where those of Node would be as well. */
async function errorsOf({ options, files }: Kind): Promise<string[]> {
  for (const file of files) project.write(file, readFileSync(join(TYPES, file), "utf8"));
  const strict = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, noEmit: true };
  project.write("tsconfig.json", JSON.stringify({ compilerOptions: { ...strict, ...options }, files }));
  const child = Bun.spawn([TSC, "--pretty", "false"], { cwd: project.folder, stdio: ["ignore", "pipe", "inherit"] });
  const output = await new Response(child.stdout).text();
  await child.exited;
  const lines = output.split("\n").filter((line) => /^\S/.test(line));
  return lines.map((line) => line.replace(/^(\S+)\((\d+),\d+\): error (TS\d+): .*$/, "$1:$2 $3"));
}

/** Mistakes are marked with the compiler's code at the end of their lines. */
const mistakesIn = (file: string): string[] =>
  readFileSync(join(TYPES, file), "utf8")
    .split("\n")
    .flatMap((line, at) => [...line.matchAll(/\/\/ (TS\d+)$/g)].map(([, code]) => `${file}:${at + 1} ${code}`));

describe("the types", () => {
  test.each([...KINDS])("accept what is right and refuse what is wrong in an application for $name", async (kind) => {
    expect(await errorsOf(kind)).toEqual(kind.files.flatMap(mistakesIn));
  });

  test("are tried with mistakes", () => {
    expect(mistakesIn("bad.ts").length).toBeGreaterThan(25);
    expect(mistakesIn("bad-react.tsx").length).toBeGreaterThan(5);
  });
});
