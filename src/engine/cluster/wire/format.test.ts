/**
 * The wire format of version 2, one example per message. Nodes of the previous release read and write exactly these texts during a
 * rolling restart: a change here needs a new version, which separates the nodes.
 */
import { describe, expect, test } from "bun:test";
import { anAppId } from "../../../base/testing/ids.ts";
import { parseGlob } from "../../../protocol/patterns/glob.ts";
import { Scope } from "../../../protocol/patterns/scope.ts";
import * as decode from "./decode.ts";
import * as encode from "./encode.ts";
import type { NodeRequest, NodeResponse } from "./messages.ts";
import { Subjects } from "./subjects.ts";

const APP = anAppId("app");

const place = { node: "n1", app: APP, channel: "chat/1", epoch: 3, n: 7 };
const envelope = { from: "ann", metadataJson: '{"a":1}', dataJson: '{"x":[1,2]}' };
const members = [
  { peerId: "ann", since: 5, node: "n1", metadataJson: undefined },
  { peerId: "bob", since: 6, node: "n1", metadataJson: '{"b":2}', isArriving: true as const },
];
const MEMBER_OBJECTS = String.raw`[{"peerId":"ann","since":5},{"peerId":"bob","since":6,"metadataJson":"{\"b\":2}","isArriving":true}]`;

describe("items of sequences", () => {
  test("a message", () => {
    const text = '[2,"message","n1","app","chat/1",3,7,"ann",7]\n{"a":1}{"x":[1,2]}';
    expect(encode.message(place, envelope)).toBe(text);
    expect(decode.sequenceItem(text)).toEqual({ kind: "message", place, envelope });
  });

  test("a message without metadata", () => {
    const plain = { ...envelope, metadataJson: undefined };
    const text = '[2,"message","n1","app","chat/1",3,7,"ann",-1]\n{"x":[1,2]}';
    expect(encode.message(place, plain)).toBe(text);
    expect(decode.sequenceItem(text)).toEqual({ kind: "message", place, envelope: plain });
  });

  test.each([
    ["nested as deep as a frame is long", { dataJson: "[".repeat(30_000) + "]".repeat(30_000) }],
    ["of nested objects", { dataJson: `${'{"a":'.repeat(500)}"${"x".repeat(4096)}"${"}".repeat(500)}` }],
    ["with a key twice inside its metadata", { metadataJson: '{"a":{"b":1,"b":2}}' }],
  ])("a message %s, as clients may send it", (_what, fields) => {
    const sent = { ...envelope, ...fields };
    expect(decode.sequenceItem(encode.message(place, sent))).toEqual({ kind: "message", place, envelope: sent });
  });

  test("a member change", () => {
    const change = { joined: members, left: ["eve"] };
    const text = String.raw`[2,"members","n1","app","chat/1",3,7,[["ann",5],["bob",6,"{\"b\":2}",true]],["eve"]]`;
    expect(encode.members(place, change)).toBe(text);
    expect(decode.sequenceItem(text)).toEqual({ kind: "members", place, change });
  });

  test("a repeated sequence number", () => {
    const text = '[2,"tail","n1","app","chat/1",3,7]';
    expect(encode.tail(place)).toBe(text);
    expect(decode.sequenceItem(text)).toEqual({ kind: "tail", place });
  });
});

describe("messages to all nodes", () => {
  test("a heartbeat", () => {
    const connections = new Map([[APP, 3]]);
    const heartbeat = { node: "n1", connections, receivesFrom: ["n2"], isReconnected: true, part: 0, parts: 2 };
    const text = '[2,"beat","n1",[["app",3]],["n2"],true,0,2]';
    expect(encode.heartbeat(heartbeat)).toBe(text);
    expect(decode.nodeMessage(text)).toEqual({ kind: "heartbeat", ...heartbeat });
    // Nodes that remember the ends of idle sequences add their clock. Others ignore it.
    const withClock = '[2,"beat","n1",[["app",3]],["n2"],true,0,2,5000]';
    expect(encode.heartbeat({ ...heartbeat, clockMs: 5000 })).toBe(withClock);
    expect(decode.nodeMessage(withClock)).toEqual({ kind: "heartbeat", ...heartbeat, clockMs: 5000 });
    // For nodes of other wires. Those of this one ignore it.
    const withAbout = `${withClock.slice(0, -1)},{"name":"b","version":"0.2.0"}]`;
    expect(encode.heartbeat({ ...heartbeat, clockMs: 5000, about: { name: "b", version: "0.2.0" } })).toBe(withAbout);
    expect(decode.nodeMessage(withAbout)).toEqual({ kind: "heartbeat", ...heartbeat, clockMs: 5000 });
    // Nodes that read changes of the list number them. Others ignore that, and get whole lists.
    const whole = { ...heartbeat, clockMs: 5000, list: { number: 7 } };
    const withNumber = `${withClock.slice(0, -1)},null,[7]]`;
    expect(encode.heartbeat(whole)).toBe(withNumber);
    expect(decode.nodeMessage(withNumber)).toEqual({ kind: "heartbeat", ...whole });
    const changes = { ...whole, receivesFrom: [], list: { number: 8, added: ["n3"], removed: ["n2"] } };
    const withChanges = '[2,"beat","n1",[["app",3]],[],true,0,2,5000,null,[8,["n3"],["n2"]]]';
    expect(encode.heartbeat(changes)).toBe(withChanges);
    expect(decode.nodeMessage(withChanges)).toEqual({ kind: "heartbeat", ...changes });
    for (const bad of ["[]", '["8"]', "{}", "[8,[]]", '[8,[""],[]]'])
      expect(decode.nodeMessage(`${withClock.slice(0, -1)},null,${bad}]`)).toBeUndefined();
  });

  test("a question for the whole list of a heartbeat", () => {
    const text = '[2,"question","n1",{"what":"list"}]';
    expect(encode.request("n1", { kind: "list" })).toBe(text);
    expect(decode.nodeMessage(text)).toEqual({ kind: "request", node: "n1", request: { kind: "list" } });
  });

  test("a connection count", () => {
    const count = { node: "n1", app: APP, connections: 4 };
    expect(encode.connectionCount(count)).toBe('[2,"count","n1","app",4]');
    expect(decode.nodeMessage('[2,"count","n1","app",4]')).toEqual({ kind: "count", ...count });
  });

  test("a farewell", () => {
    expect(encode.farewell("n1")).toBe('[2,"farewell","n1"]');
    expect(decode.nodeMessage('[2,"farewell","n1"]')).toEqual({ kind: "farewell", node: "n1" });
  });
});

test("what a return adds: a member without a roster yet, and a direct message that waits for one", () => {
  const ann = { peerId: "ann", since: 5, node: "n1", metadataJson: undefined, isReturning: true as const };
  const joined = [ann, { ...ann, keyId: "k" }];
  const fields = '["ann",5,null,null,null,null,null,null,true],["ann",5,null,null,null,null,null,"k",true]';
  const change = { joined, left: [] };
  const text = `[2,"members","n1","app","chat/1",3,7,[${fields}],[]]`;
  expect(encode.members(place, change)).toBe(text);
  expect(decode.sequenceItem(text)).toEqual({ kind: "members", place, change });
  const direct = {
    node: "n1",
    number: 9,
    app: APP,
    to: "bob",
    envelope: { ...envelope, awaitsRoster: true as const },
  };
  const directText = '[2,"direct","n1",9,"app","bob","ann",7,null,true]\n{"a":1}{"x":[1,2]}';
  expect(encode.directMessage(direct)).toBe(directText);
  expect(decode.directMessage(directText)).toEqual(direct);
});

test("a member that its node has inherited names the node of its connection", () => {
  const ann = { peerId: "ann", since: 5, node: "n0", metadataJson: undefined };
  const lingers = { why: "lost", untilMs: 9, keyId: "k" } as const;
  const change = { joined: [ann, { ...ann, lingers }, { ...ann, isReturning: true as const }], left: [] };
  const fields = [
    '["ann",5,null,null,null,null,null,null,null,null,"n0"]',
    '["ann",5,null,null,null,"lost",9,"k",null,null,"n0"]',
    '["ann",5,null,null,null,null,null,null,true,null,"n0"]',
  ];
  const text = `[2,"members","n1","app","chat/1",3,7,[${fields}],[]]`;
  expect(encode.members(place, change)).toBe(text);
  expect(decode.sequenceItem(text)).toEqual({ kind: "members", place, change });
  const response = { kind: "members" as const, members: [ann] };
  const answer = '[2,"answer","n1",0,1,{"what":"members","members":[{"peerId":"ann","since":5,"node":"n0"}]}]';
  expect(encode.responsePart({ node: "n1", part: 0, parts: 1, response })).toBe(answer);
  expect(decode.responsePart(answer)?.response).toEqual(response);
});

test("a member that lingers, and how much of that is left, which nodes of earlier versions neither write nor read", () => {
  const lingers = { why: "held", untilMs: 20_000, keyId: "k" } as const;
  const ann = { peerId: "ann", since: 5, node: "n1", metadataJson: undefined };
  const change = {
    joined: [
      { ...ann, lingers },
      { ...ann, lingers: { ...lingers, leftMs: 9000 } },
      { ...ann, lingers: { ...lingers, hadOther: true as const } },
      { ...ann, node: "n0", lingers: { ...lingers, leftMs: 9000, hadOther: true as const } },
    ],
    left: [],
  };
  const fields = [
    '["ann",5,null,null,null,"held",20000,"k"]',
    '["ann",5,null,null,null,"held",20000,"k",null,9000]',
    '["ann",5,null,null,null,"held",20000,"k",null,null,null,true]',
    '["ann",5,null,null,null,"held",20000,"k",null,9000,"n0",true]',
  ];
  const text = `[2,"members","n1","app","chat/1",3,7,[${fields}],[]]`;
  expect(encode.members(place, change)).toBe(text);
  expect(decode.sequenceItem(text)).toEqual({ kind: "members", place, change });
});

test("what attempts add: the scope of an id, whether it is the next one, late receipts, and the return of a peer", () => {
  const direct = { node: "n1", number: 9, app: APP, to: "bob" };
  const body = '\n{"a":1}{"x":[1,2]}';
  for (const [message, fields] of [
    [{ ...direct, envelope: { ...envelope, id: "i", idScope: "peer ann" } }, '"i",null,"peer ann"'],
    [{ ...direct, envelope: { ...envelope, awaitsRoster: true as const }, isNext: true }, "null,true,null,true"],
    [{ ...direct, envelope: { ...envelope, awaitsRoster: true as const }, isNext: false }, "null,true,null,false"],
    [
      { ...direct, envelope: { ...envelope, awaitsRoster: true as const, sentEarlier: true as const }, isNext: true },
      "null,true,null,true,null,true",
    ],
    [{ ...direct, envelope, isNext: true }, "null,null,null,true"],
    [{ ...direct, envelope, isNext: false, oldest: 7 }, "null,null,null,false,7"],
  ] as const) {
    const text = `[2,"direct","n1",9,"app","bob","ann",7,${fields}]${body}`;
    expect(encode.directMessage(message)).toBe(text);
    expect(decode.directMessage(text)).toEqual(message);
  }
  const late = '[2,"handed","n1",0,false,true]';
  expect(encode.deliveryCount({ node: "n1", count: 0, isLate: true })).toBe(late);
  expect(decode.deliveryCount(late)).toEqual({ node: "n1", count: 0, isLate: true });
  const returned = { node: "n1", app: APP, peerId: "bob" };
  expect(encode.peerReturned(returned)).toBe('[2,"back","n1","app","bob"]');
  expect(decode.peerReturned('[2,"back","n1","app","bob"]')).toEqual(returned);
});

test("a direct message and its receipt", () => {
  const message = { node: "n1", number: 9, app: APP, to: "bob", envelope };
  const text = '[2,"direct","n1",9,"app","bob","ann",7]\n{"a":1}{"x":[1,2]}';
  expect(encode.directMessage(message)).toBe(text);
  expect(decode.directMessage(text)).toEqual(message);
  expect(encode.deliveryCount({ node: "n1", count: 2 })).toBe('[2,"handed","n1",2]');
  expect(decode.deliveryCount('[2,"handed","n1",2]')).toEqual({ node: "n1", count: 2 });
});

test("a notification", () => {
  const text = '[2,"notice","n1"]\n{"name":"tail"}';
  expect(encode.notification("n1", '{"name":"tail"}')).toBe(text);
  expect(decode.nodeMessage(text)).toEqual({ kind: "notification", node: "n1", text: '{"name":"tail"}' });
});

describe("requests", () => {
  const scope = new Scope([parseGlob("c/*")].filter((glob) => typeof glob !== "string"));
  const examples: readonly (readonly [NodeRequest, string])[] = [
    [{ kind: "sequences", channels: [[APP, "chat/1"]] }, '{"what":"who","channels":[["app","chat/1"]]}'],
    [
      { kind: "replay", from: place, to: 9 },
      '{"what":"again","place":{"node":"n1","app":"app","channel":"chat/1","epoch":3,"n":7},"to":9}',
    ],
    [{ kind: "channels", app: APP }, '{"what":"channels","app":"app"}'],
    [
      { kind: "channels", app: APP, page: { prefix: "c", after: "c/1", limit: 9, scope } },
      '{"what":"channels","app":"app","page":{"prefix":"c","after":"c/1","limit":9,"scope":["c/*"]}}',
    ],
    [{ kind: "members", app: APP, channel: "c" }, '{"what":"members","app":"app","channel":"c"}'],
    [{ kind: "block", app: APP, peerId: "ann", untilMs: 5 }, '{"what":"block","app":"app","peerId":"ann","untilMs":5}'],
    [{ kind: "kick", app: APP, peerId: "ann" }, '{"what":"kick","app":"app","peerId":"ann"}'],
    [{ kind: "capacity", app: APP, number: 4 }, '{"what":"room","app":"app","n":4}'],
    [{ kind: "invalidate" }, '{"what":"look"}'],
    [{ kind: "invalidate", app: APP }, '{"what":"look","app":"app"}'],
    [{ kind: "invalidate", withdrawn: '{"id":"k"}' }, String.raw`{"what":"look","ended":"{\"id\":\"k\"}"}`],
    [{ kind: "deliver", text: "x" }, '{"what":"hand","text":"x"}'],
    [{ kind: "deliver", text: "x", nodes: ["n2"] }, '{"what":"hand","text":"x","nodes":["n2"]}'],
    [{ kind: "text", text: '{"name":"node"}' }, String.raw`{"what":"text","text":"{\"name\":\"node\"}"}`],
  ];
  test.each(examples)("%j", (request, fields) => {
    const text = `[2,"question","n1",${fields}]`;
    expect(encode.request("n1", request)).toBe(text);
    expect(decode.nodeMessage(text)).toEqual({ kind: "request", node: "n1", request });
  });
});

describe("responses", () => {
  const sequence = { app: APP, channel: "chat/1", epoch: 3, n: 7, members };
  const count = { channel: "c", peerIds: ["ann"], connections: 2 };
  const examples: readonly (readonly [NodeResponse, string])[] = [
    [
      { kind: "sequences", sequences: [sequence] },
      `{"what":"who","lanes":[{"app":"app","channel":"chat/1","epoch":3,"n":7,"members":${MEMBER_OBJECTS}}]}`,
    ],
    // Nodes that remember the ends of idle sequences add the ages. Others ignore them.
    [
      {
        kind: "sequences",
        sequences: [{ ...sequence, members: [], idleMs: 5000, earlierIdleMs: 9000, clockMs: 12000 }],
      },
      '{"what":"who","lanes":[{"app":"app","channel":"chat/1","epoch":3,"n":7,"members":[],"idleMs":5000,"earlierIdleMs":9000,"clockMs":12000}]}',
    ],
    [{ kind: "replay", items: undefined }, '{"what":"again","items":null}'],
    [{ kind: "replay", items: ["one"] }, '{"what":"again","items":["one"]}'],
    [
      { kind: "channels", counts: [count], steps: 9 },
      '{"what":"channels","counts":[{"channel":"c","peerIds":["ann"],"connections":2}],"steps":9}',
    ],
    [{ kind: "members", members }, `{"what":"members","members":${MEMBER_OBJECTS}}`],
    [{ kind: "block" }, '{"what":"block"}'],
    [{ kind: "kick", closed: 2 }, '{"what":"kick","closed":2}'],
    [{ kind: "capacity", taken: 4 }, '{"what":"room","taken":4}'],
    [{ kind: "invalidate", connections: 5 }, '{"what":"look","connections":5}'],
    [{ kind: "text", text: '{"a":1}' }, String.raw`{"what":"text","text":"{\"a\":1}"}`],
    [{ kind: "deliver", count: 0, isLate: true }, '{"what":"hand","count":0,"isLate":true}'],
  ];
  test.each(examples)("%j", (response, fields) => {
    const text = `[2,"answer","n1",0,1,${fields}]`;
    expect(encode.responsePart({ node: "n1", part: 0, parts: 1, response })).toBe(text);
    expect(decode.responsePart(text)).toEqual({ node: "n1", part: 0, parts: 1, response });
  });

  test("a delivery without isLate", () => {
    const text = '[2,"answer","n1",0,1,{"what":"hand","count":1}]';
    expect(encode.responsePart({ node: "n1", part: 0, parts: 1, response: { kind: "deliver", count: 1 } })).toBe(text);
    expect(decode.responsePart(text)?.response).toEqual({ kind: "deliver", count: 1, isLate: false });
  });
});

test("subjects", () => {
  const subjects = new Subjects("parley", "n1");
  expect([subjects.all, subjects.node("n2")]).toEqual(["parley.all", "parley.node.bjI"]);
  expect([subjects.response(5), subjects.responses]).toEqual(["parley.answer.bjE.5", "parley.answer.bjE.*"]);
  expect(subjects.channel(APP, "chat/1")).toBe("parley.lane.YXBw.Y2hhdC8x");
  expect(subjects.peer(APP, "ann")).toBe("parley.peer.YXBw.YW5u");
});
