/**
 * A real S3-compatible service for a test: versitygw, a gateway that serves a folder. It checks every signature and implements S3's
 * multipart uploads. Built once from Go's registry, where Go is installed; `VERSITYGW` may name an existing binary.
 */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../src/testing/ports.ts";
import { removeFolder, tempFolder } from "./temp.ts";
import { retried } from "./wait.ts";

const MODULE = "github.com/versity/versitygw";
const VERSION = "v1.8.0";
const CACHE = join(import.meta.dir, `../../node_modules/.cache/versitygw-${VERSION}`);
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
  const program = join(CACHE, "versitygw");
  if (existsSync(program)) return program;
  const go = Bun.which("go");
  if (!go) throw new Error("Go is needed to build a service to test against: apt-get install golang-go");
  mkdirSync(CACHE, { recursive: true });
  // Built without optimizations, in two thirds of the CPU time.
  const flags = ["-gcflags=all=-N -l", "-ldflags=-s -w"];
  const build = Bun.spawn([go, "install", ...flags, `${MODULE}/cmd/versitygw@${VERSION}`], {
    env: { ...process.env, GOBIN: CACHE, CGO_ENABLED: "0" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [complaint, code] = await Promise.all([build.stderr.text(), build.exited]);
  if (code !== 0) throw new Error(`versitygw could not be built: ${complaint}`);
  return program;
}

/** It does not report when it is ready, so this polls until it responds. */
async function answering(url: string, isOver: () => boolean): Promise<void> {
  const isStarting = (): boolean => !isOver();
  await retried("versitygw answers", () => fetch(url), isStarting, START_MS);
}
