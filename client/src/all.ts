/** The package without React as one module: what the service offers at /client.js. */
export * from "./history.ts";
export * from "./http.ts";
export * from "./index.ts";
export * from "./queue.ts";
export * from "./state.ts";
