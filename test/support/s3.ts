/**
 * A real S3-compatible service for a test: versitygw, a gateway that serves a folder. It checks every signature and implements S3's
 * multipart uploads. Built once from Go's registry, where Go is installed (s3-gateway/); `VERSITYGW` may name an existing binary.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../src/testing/ports.ts";
import { removeFolder, scratch, tempFolder } from "./temp.ts";
import { retried } from "./wait.ts";

const SOURCES = join(import.meta.dir, "s3-gateway");
const FILES = ["go.mod", "main.go"];
const CACHE = join(import.meta.dir, "../../node_modules/.cache");
/** Cheap to build: without optimizations, without what debuggers read, and with garbage only collected from 1 GiB, which saves a sixth. */
const FLAGS = ["-gcflags=all=-N -l -dwarf=false", "-ldflags=-s -w"];
const FRUGAL = { CGO_ENABLED: "0", GOGC: "off", GOMEMLIMIT: "1GiB" };
const START_MS = 20_000;

export interface S3Service {
  readonly endpoint: string;
  readonly accessKey: string;
  readonly secretKey: string;
  readonly bucket: string;
  /** The value for PARLEY_STORAGE_URL. */
  readonly storageUrl: string;
  /** The folder that holds its objects as files. */
  readonly folder: string;
  stop(): Promise<void>;
}

export async function startS3(): Promise<S3Service> {
  const program = await gateway();
  const root = tempFolder();
  const bucket = "parley-test";
  mkdirSync(join(root, bucket));
  const [accessKey, secretKey] = ["test-access", `test/secret+${crypto.randomUUID()}`];
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const child = Bun.spawn([program, "--port", `127.0.0.1:${port}`, "--quiet", "posix", root], {
    env: { PATH: process.env.PATH ?? "", ROOT_ACCESS_KEY: accessKey, ROOT_SECRET_KEY: secretKey },
    stdio: ["ignore", "ignore", "ignore"],
  });
  await answering(endpoint, () => child.exitCode !== null);
  const credential = [accessKey, secretKey].map(encodeURIComponent).join(":");
  return {
    endpoint,
    accessKey,
    secretKey,
    bucket,
    storageUrl: `s3://${credential}@${bucket}/some/prefix?endpoint=${endpoint}`,
    folder: join(root, bucket),
    stop: async () => {
      child.kill("SIGKILL");
      await child.exited;
      removeFolder(root);
    },
  };
}

async function gateway(): Promise<string> {
  const given = process.env.VERSITYGW ?? Bun.which("versitygw");
  if (given) return given;
  const version = Bun.hash(FILES.map((name) => readFileSync(join(SOURCES, name), "utf8")).join(""), 0).toString(16);
  const program = join(CACHE, `s3-gateway-${version}`);
  if (existsSync(program)) return program;
  const go = Bun.which("go");
  if (!go) throw new Error("Go is needed to build a service to test against: apt-get install golang-go");
  mkdirSync(CACHE, { recursive: true });
  using folder = scratch(CACHE);
  // A copy: the modules that versitygw needs are added to go.mod.
  for (const name of FILES) copyFileSync(join(SOURCES, name), join(folder.path, name));
  const build = Bun.spawn([go, "build", "-mod=mod", ...FLAGS, "-o", "made", "."], {
    cwd: folder.path,
    env: { ...process.env, ...FRUGAL },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [complaint, code] = await Promise.all([build.stderr.text(), build.exited]);
  if (code !== 0) throw new Error(`versitygw could not be built: ${complaint}`);
  renameSync(join(folder.path, "made"), program);
  return program;
}

/** It does not report when it is ready, so this polls until it responds. */
async function answering(url: string, isOver: () => boolean): Promise<void> {
  const isStarting = (): boolean => !isOver();
  await retried("versitygw answers", () => fetch(url), isStarting, START_MS);
}
