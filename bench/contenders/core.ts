/** The server has one core to itself and the loader another, so that neither affects the other's measurement. */
export const SERVER_CORE = 0;
export const ON_SERVER_CORE = ["taskset", "-c", String(SERVER_CORE)] as const;
