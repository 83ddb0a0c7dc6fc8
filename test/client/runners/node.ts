/** Runs under Node: plays the named scenario with parley-client/node, and exits when nothing is left open. */
import { Parley } from "../../../client/src/node.ts";
import { play } from "../scenarios/all.ts";

const [name = "", facts = ""] = process.argv.slice(2);
await play(name, JSON.parse(facts), (options) => new Parley(options));
