/** What meets contributors before the code does: the workflow, the dev container and the forms. All of them have what `npm test` needs. */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { ROOT } from "../../scripts/import-graph.ts";

interface Step {
  readonly uses?: string;
  readonly run?: string;
}

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<
    Record<string, { "timeout-minutes": number; container: { image: string }; steps: readonly Step[] }>
  >;
}

interface Form {
  readonly name: string;
  readonly description: string;
  readonly body: readonly { readonly type: string; readonly id?: string; readonly attributes: object }[];
}

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const PACKAGES = ".devcontainer/debian-packages.txt";
const dockerfile = read(".devcontainer/Dockerfile");
const container = JSON.parse(read(".devcontainer/devcontainer.json"));
const { permissions, jobs } = Bun.YAML.parse(read(".github/workflows/test.yml")) as Workflow;
const image = /^FROM (\S+)$/m.exec(dockerfile)?.[1] ?? "";

test("the list of Debian packages is what the suites need", () => {
  const needed = [
    ...(read("test/run.ts") + read("test/support/packages.ts")).matchAll(/\bprogram: "[^"]+",\s*name: "([^"]+)"/g),
  ].map(([, name = ""]) => name);
  expect(read(PACKAGES).trimEnd().split("\n")).toEqual([...new Set(needed)].sort());
});

test("one version of Node: in .nvmrc, in both containers, and the oldest that package.json allows", () => {
  const version = read(".nvmrc").trim();
  expect(manifest.engines.node).toBe(`>=${version}`);
  expect(image).toMatch(new RegExp(`^node:${version}-[a-z]+$`));
});

describe("the dev container", () => {
  test("has the packages of the list, and installs the dependencies with the project's own script", () => {
    expect(container.build.dockerfile).toBe("Dockerfile");
    expect(dockerfile).toContain("COPY debian-packages.txt /tmp/");
    expect(dockerfile).toContain("xargs apt-get install -y -q </tmp/debian-packages.txt");
    expect(container.postCreateCommand).toBe("sh bin/dev --version");
  });

  test("is not used as root: suites that need root are skipped there, and would fail without further rights", () => {
    expect(container.remoteUser).toBe("node");
  });
});

describe("the workflow", () => {
  const [job, ...others] = Object.values(jobs);
  const steps = job?.steps ?? [];

  test("may only read, ends after half an hour, and runs in the image of the dev container", () => {
    expect(others).toEqual([]);
    expect(permissions).toEqual({ contents: "read" });
    expect(job?.["timeout-minutes"]).toBe(30);
    expect(job?.container.image).toBe(image);
  });

  test("uses only GitHub's own actions, by major version", () => {
    const actions = steps.flatMap(({ uses }) => uses ?? []);
    expect(actions).not.toEqual([]);
    expect(actions.filter((action) => !/^actions\/(checkout|cache|setup-node)@v\d+$/.test(action))).toEqual([]);
  });

  test("installs the packages of the list, then runs .ci/run, with commands that a shell understands", () => {
    const scripts = steps.flatMap(({ run }) => run ?? []);
    expect(scripts.some((script) => script.includes(`xargs apt-get install -y -q <${PACKAGES}`))).toBe(true);
    expect(scripts.at(-1)).toBe(".ci/run");
    for (const script of scripts) expect(Bun.spawnSync(["sh", "-n", "-c", script]).exitCode, script).toBe(0);
    const named = scripts.join("\n").match(/(?<=<)\.[\w./-]+/g) ?? [];
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});

test.each(["bug", "idea"])("the form for issues %s has a name, and its fields have ids and labels", (name) => {
  const form = Bun.YAML.parse(read(`.github/ISSUE_TEMPLATE/${name}.yml`)) as Form;
  expect([typeof form.name, typeof form.description]).toEqual(["string", "string"]);
  const fields = form.body.filter(({ type }) => type !== "markdown");
  expect(new Set(fields.map(({ id }) => id)).size).toBe(fields.length);
  for (const field of fields)
    expect(field).toMatchObject({ id: expect.any(String), attributes: { label: expect.any(String) } });
});
