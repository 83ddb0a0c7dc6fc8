/** A client that prints what it sees, one line of JSON each: its address and its token are its arguments. */
import { Parley } from "../../../client/src/index.ts";

const [url = "", token = ""] = process.argv.slice(2);
const print = (event: string, value: unknown): void => console.log(JSON.stringify([event, value]));

const parley = new Parley({ url, token: () => token });
parley.on("status", ({ state }) => print("status", state));
const channel = parley.channel("kept/1");
channel.on("message", ({ data }) => print("message", data));
channel.on("gap", ({ reason }) => print("gap", reason));
channel.on("subscribed", ({ recovered }) => print("subscribed", recovered ?? null));
