/** The colours in which a Firefox draws all of its pages. */
export type Scheme = "light" | "dark";

/** The variable with which the bridge is given them. */
export const SCHEME = "PARLEY_TEST_FIREFOX_SCHEME";
