/** Executables for other systems: built, and inspected. What can run here, does. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { closeSync, existsSync, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { fileNameOf, TARGETS, targetNamed } from "../../scripts/build/targets.ts";
import { IS_FULL } from "../support/slack.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { mustBuild } from "./support/executable.ts";

setDefaultTimeout(1_800_000);

test("package-lock.json says which bytes the runtime of each target has", () => {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
    packages: Record<string, { integrity?: string }>;
  };
  for (const { runtime } of TARGETS) expect(packages[`node_modules/${runtime}`]?.integrity).toStartWith("sha512-");
});

/** Numbers of the formats: what the file is, and for which processor. */
const ELF = 0x7f_45_4c_46;
const ELF_MACHINES: Readonly<Record<string, number>> = { x64: 62, arm64: 183 };
const MACH_O_64 = 0xfe_ed_fa_cf;
const MACH_O_CPUS: Readonly<Record<string, number>> = { x64: 0x0100_0007, arm64: 0x0100_000c };
const PE_MACHINES: Readonly<Record<string, number>> = { x64: 0x8664, arm64: 0xaa64 };

const HEAD_BYTES = 65_536;

function headOf(path: string): DataView {
  const bytes = new Uint8Array(HEAD_BYTES);
  const file = openSync(path, "r");
  readSync(file, bytes, 0, HEAD_BYTES, 0);
  closeSync(file);
  return new DataView(bytes.buffer);
}

const isFor: Readonly<Record<string, (head: DataView, machine: string) => boolean>> = {
  linux: (head, machine) => head.getUint32(0) === ELF && head.getUint16(18, true) === ELF_MACHINES[machine],
  freebsd: (head, machine) => head.getUint32(0) === ELF && head.getUint16(18, true) === ELF_MACHINES[machine],
  darwin: (head, machine) => head.getUint32(0, true) === MACH_O_64 && head.getUint32(4, true) === MACH_O_CPUS[machine],
  windows: (head, machine) => head.getUint16(head.getUint32(0x3c, true) + 4, true) === PE_MACHINES[machine],
};

/** The program that a file of Linux names as its loader. */
const loaderOf = (head: DataView): string =>
  /\/lib[\w/.-]*\/ld-[\w.-]+/.exec(new TextDecoder("latin1").decode(head))?.[0] ?? "";

/** Debian's package libc6-arm64-cross. */
const ARM64_LIBRARIES = "/usr/aarch64-linux-gnu";
const CAN_RUN_ARM64 = Bun.which("qemu-aarch64") !== null && existsSync(ARM64_LIBRARIES);

describe.skipIf(!IS_FULL)("executables for all targets", () => {
  const folder = tempFolder();
  afterAll(() => removeFolder(folder));

  beforeAll(async () => {
    await mustBuild("--all", "--out", folder);
  });

  test.each(TARGETS.map(({ name }) => name))("%s is a program for that system and processor", (name) => {
    const [system = "", machine = "", libc = "glibc"] = name.split("-");
    const head = headOf(join(folder, fileNameOf(targetNamed(name))));
    expect(isFor[system]?.(head, machine)).toBe(true);
    if (system === "linux") expect(loaderOf(head).includes("musl")).toBe(libc === "musl");
  });

  test.skipIf(!CAN_RUN_ARM64)("the one for linux-arm64 starts in an emulator", async () => {
    const program = join(folder, fileNameOf(targetNamed("linux-arm64")));
    const data = join(folder, "data");
    const command = ["qemu-aarch64", "-L", ARM64_LIBRARIES, program, "up", "--port", "0", "--data", data];
    const child = Bun.spawn(command, { stdio: ["ignore", "pipe", "inherit"] });
    try {
      const url = await readyUrl(child.stdout);
      expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: "ok" });
      expect((await fetch(`${url}/dashboard`)).status).toBe(200);
    } finally {
      child.kill();
      await child.exited;
    }
  });
});

async function readyUrl(output: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of output.values({ preventCancel: true })) {
    text += decoder.decode(bytes, { stream: true });
    const ready = /"url":"([^"]+)".*"msg":"parley is ready"/.exec(text);
    if (ready) return ready[1] ?? "";
  }
  throw new Error(`it ended: ${text}`);
}
