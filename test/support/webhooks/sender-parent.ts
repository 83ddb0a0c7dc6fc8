/** A process that sends a request and writes the id of the process that does so for it; to be killed. */
import { systemClock } from "../../../src/base/clock.ts";
import { NOTHING_ALLOWED, parseAllow } from "../../../src/net/allow.ts";
import { Sender } from "../../../src/webhooks/sending/sender.ts";

const [url = ""] = process.argv.slice(2);
const rules = { allow: parseAllow("127.0.0.0/8") ?? NOTHING_ALLOWED, ownHosts: [], ownPorts: [] };
const sender = new Sender({ rules, clock: systemClock });
void sender.send({ url, isTrusted: true, headers: {}, body: "{}" });
console.log(sender.pid);
