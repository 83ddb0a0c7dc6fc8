/**
 * How credentials are recognised in any text, by their names in credentials.ts. Those that are not here are known by their value only. This file
 * imports nothing: what runs under Node uses it too.
 */
const JWT = /eyJ[\w-]{10,}\.[\w-]+\.[\w-]{43}/;
const ROOM_JWT = /rt_eyJ[\w-]{10,}/;
const PROOF = /proof=[\w-]{43}/;

export const CREDENTIAL_FORMS: Readonly<Record<string, RegExp>> = {
  "admin token": /parley_admin_[\w-]{48}/,
  "operator token": /\bop_[\w-]{48}/,
  "secret key": /sk_secret_[\w-]{48}/,
  "connect token": JWT,
  "access token": JWT,
  "host link": JWT,
  "stay token": ROOM_JWT,
  "lobby token": ROOM_JWT,
  "session over HTTP": /\bes_[\w-]+\.[0-9a-z]+\.[\w-]{22}\.[\w-]{43}/,
  "upload address": PROOF,
  "recording link": PROOF,
  "signed bucket address": /X-Amz-(Signature|Security-Token)=\w/,
  "webhook secret": /whsec_[A-Za-z0-9+/]{32}/,
  "TURN API key": /tk_eyJ[\w-]{10,}/,
};
