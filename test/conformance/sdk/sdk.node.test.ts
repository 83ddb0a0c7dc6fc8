/** The public SDK, unmodified, under Node with `ws` in its default settings: one process per scenario. */
import { afterAll, beforeAll } from "bun:test";
import { NodeRunner } from "./node.ts";
import { suite } from "./suite.ts";

const runner = new NodeRunner();

beforeAll(() => runner.build());
afterAll(() => runner.finish(), 30_000);

suite("Node and ws", ({ name }, env) => runner.play(name, env));
