/** The tests of the package, unmodified. */
import { runConformanceTests } from "@durable-streams/server-conformance-tests";

const [baseUrl = ""] = (process.env.PARLEY_TEST_STREAM_URLS ?? "").split(",");
const longPollTimeoutMs = Number(process.env.PARLEY_TEST_STREAM_POLL_SECONDS) * 1000;

runConformanceTests({ baseUrl, longPollTimeoutMs });
