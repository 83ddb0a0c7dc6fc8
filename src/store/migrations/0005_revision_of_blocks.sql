-- Blocks have a revision of their own: nodes that share a store compare both with what they have in memory.
INSERT INTO revisions (id, revision) VALUES (2, 0);
