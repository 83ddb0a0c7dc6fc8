-- Blocks have a revision of their own: nodes that share a store look at both once a second.
INSERT INTO revisions (id, revision) VALUES (2, 0);
