-- Members whose connections a node has closed as it stopped: they are expected back, and stay in rosters until then.
CREATE TABLE held_members (
  node TEXT NOT NULL,
  part BIGINT NOT NULL,
  until_ms BIGINT NOT NULL,
  -- A JSON array of many members: a row for each would make a node with many connections stop slowly.
  members TEXT NOT NULL,
  PRIMARY KEY (node, part)
);
