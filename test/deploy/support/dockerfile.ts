/**
 * Reads the part of the Dockerfile syntax that ours uses: instructions in order, by stage, and the build context. Our own, in about 50
 * lines, because a form that it does not know is an error: general parsers (dockerfile-ast, with two packages more) accept instructions
 * that do not exist. It agrees with dockerfile-ast 0.7.1 about both Dockerfiles, and with @balena/dockerignore 1.0.2 about every file of
 * the repository.
 */

export interface Instruction {
  readonly name: string;
  readonly text: string;
}

export interface Stage {
  readonly from: string;
  readonly name: string;
  readonly instructions: readonly Instruction[];
}

const KNOWN = new Set(
  "FROM RUN CMD ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR EXPOSE STOPSIGNAL HEALTHCHECK LABEL ARG SHELL".split(" "),
);

export function parseDockerfile(text: string): Stage[] {
  const stages: { from: string; name: string; instructions: Instruction[] }[] = [];
  for (const { name, text: argument } of instructions(text)) {
    if (!KNOWN.has(name)) throw new Error(`there is no instruction ${name}`);
    if (name === "FROM") {
      const form = /^(\S+)(?: AS (\S+))?$/.exec(argument);
      if (!form) throw new Error(`FROM ${argument}: not an image and perhaps a name`);
      stages.push({ from: form[1] ?? "", name: form[2] ?? "", instructions: [] });
    } else if (stages.length === 0) throw new Error(`${name} stands before the first FROM`);
    else stages.at(-1)?.instructions.push({ name, text: argument });
  }
  return stages;
}

function instructions(text: string): Instruction[] {
  const joined = text
    .split("\n")
    .filter((line) => !/^\s*#/.test(line))
    .join("\n")
    .replace(/\\\n/g, " ");
  return joined
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const form = /^([A-Z]+)\s+(.*)$/.exec(line.trim());
      if (!form) throw new Error(`not an instruction: ${line}`);
      return { name: form[1] ?? "", text: (form[2] ?? "").replace(/\s+/g, " ") };
    });
}

/** The one instruction of that name. */
export function only(stage: Stage, name: string): string {
  const found = stage.instructions.filter((one) => one.name === name);
  if (found.length !== 1) throw new Error(`${found.length} × ${name}`);
  return found[0]?.text ?? "";
}

/** ["a", "b"] of the exec form, which needs no shell. */
export function exec(text: string): string[] {
  const list: unknown = JSON.parse(text.slice(text.indexOf("[")));
  if (!Array.isArray(list)) throw new Error(`not a list: ${text}`);
  return list.map(String);
}

/** The files that .dockerignore lets through: the last matching line decides. Patterns match a file, or a folder it is in. */
export function reachesBuild(ignore: string, path: string): boolean {
  let out = false;
  for (const line of ignore.split("\n").filter((text) => text !== "" && !text.startsWith("#"))) {
    const back = line.startsWith("!");
    const glob = new Bun.Glob(back ? line.slice(1) : line);
    const parts = path.split("/");
    if (parts.some((_, at) => glob.match(parts.slice(0, at + 1).join("/")))) out = !back;
  }
  return !out;
}
