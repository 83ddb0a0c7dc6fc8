/** Preloaded, so that its hook is that of the whole process and not of one test file. */
import { afterAll } from "bun:test";
import { endRun } from "./run.ts";

afterAll(endRun, 60_000);
