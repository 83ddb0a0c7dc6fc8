-- Epochs begin with a letter: libraries that do not treat offsets of streams as opaque take digits behind the underscore for a number to count up.
-- Nodes of earlier versions can use it as it is.
CREATE OR REPLACE FUNCTION history_epoch() RETURNS TEXT LANGUAGE sql VOLATILE AS $$
  SELECT 'e' || substr(md5(gen_random_uuid()::TEXT), 1, 14)
$$;
