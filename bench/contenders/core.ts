/** The server has one core to itself, the loader the other: neither is measured while the other is in its way. */
export const SERVER_CORE = 0;
export const ON_SERVER_CORE = ["taskset", "-c", String(SERVER_CORE)] as const;
