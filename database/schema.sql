-- The schema that database/migrations make, for reading and for reviewing: written by `npm run schema`, never by hand, and
-- run by nobody. Each table has its constraints, indexes, policies, triggers and rights beside it; functions follow by name.
-- CURRENT_USER in a policy is the owner of the database.

-- Schemas

CREATE SCHEMA app;
GRANT USAGE ON SCHEMA app TO dealkeep_server;

CREATE SCHEMA limits;
GRANT USAGE ON SCHEMA limits TO dealkeep_server;

GRANT USAGE ON SCHEMA public TO PUBLIC;
GRANT USAGE ON SCHEMA public TO dealkeep_server;

CREATE SCHEMA vault;

-- Extensions, in a schema of their own

CREATE EXTENSION btree_gin WITH SCHEMA extensions;

CREATE EXTENSION pg_trgm WITH SCHEMA extensions;

-- Rights on what is made from now on, in the place of those that PostgreSQL gives

ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO CURRENT_USER;

-- Types

CREATE DOMAIN app.change_kind AS text CONSTRAINT change_kind_check CHECK (VALUE = ANY (ARRAY['created'::text, 'updated'::text, 'admitted'::text, 'archived'::text, 'restored'::text, 'removed'::text])) NOT VALID;

-- Tables

CREATE TABLE app.job_runs (
    job text NOT NULL,
    last_run_at timestamp with time zone NOT NULL,
    last_success_at timestamp with time zone,
    last_failure_at timestamp with time zone,
    missing_documents integer DEFAULT 0 NOT NULL,
    CONSTRAINT job_runs_pkey PRIMARY KEY (job),
    CONSTRAINT job_runs_job_check CHECK (job ~ '^[a-z][a-z0-9_]{0,62}$'::text)
);
ALTER TABLE app.job_runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE app.job_runs FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON app.job_runs TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE app.migrations (
    name text NOT NULL,
    digest text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL,
    breaking boolean DEFAULT false NOT NULL,
    CONSTRAINT migrations_pkey PRIMARY KEY (name)
);
ALTER TABLE app.migrations ENABLE ROW LEVEL SECURITY;
ALTER TABLE app.migrations FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON app.migrations TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY everybody_reads ON app.migrations FOR SELECT TO dealkeep_server
    USING (true);
GRANT SELECT ON app.migrations TO dealkeep_server;

CREATE TABLE app.moves (
    subject text NOT NULL,
    from_state text NOT NULL,
    to_state text NOT NULL,
    CONSTRAINT moves_pkey PRIMARY KEY (subject, from_state, to_state)
);
ALTER TABLE app.moves ENABLE ROW LEVEL SECURITY;
ALTER TABLE app.moves FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON app.moves TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY everybody_reads ON app.moves FOR SELECT TO dealkeep_server
    USING (true);
GRANT SELECT ON app.moves TO dealkeep_server;

CREATE TABLE app.notification_kinds (
    kind text NOT NULL,
    place integer NOT NULL,
    delivery text NOT NULL,
    security boolean DEFAULT false NOT NULL,
    CONSTRAINT notification_kinds_pkey PRIMARY KEY (kind),
    CONSTRAINT notification_kinds_place_key UNIQUE (place),
    CONSTRAINT notification_kinds_delivery_check CHECK (delivery = ANY (ARRAY['off'::text, 'app'::text, 'daily'::text, 'at_once'::text]))
);
ALTER TABLE app.notification_kinds ENABLE ROW LEVEL SECURITY;
ALTER TABLE app.notification_kinds FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON app.notification_kinds TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY everybody_reads ON app.notification_kinds FOR SELECT TO dealkeep_server
    USING (true);
GRANT SELECT ON app.notification_kinds TO dealkeep_server;

CREATE UNLOGGED TABLE limits.counters (
    key character varying(255) NOT NULL,
    points integer DEFAULT 0 NOT NULL,
    expire bigint,
    CONSTRAINT counters_pkey PRIMARY KEY (key)
);
CREATE INDEX counters_by_expiry ON limits.counters USING btree (expire);
ALTER TABLE limits.counters ENABLE ROW LEVEL SECURITY;
ALTER TABLE limits.counters FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON limits.counters TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY the_server_counts ON limits.counters TO dealkeep_server
    USING (true)
    WITH CHECK (true);
GRANT DELETE, INSERT, SELECT, UPDATE ON limits.counters TO dealkeep_server;

CREATE TABLE public.accounting_snapshots (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    deal_id uuid NOT NULL,
    snapshot_type text NOT NULL,
    status text DEFAULT 'requested'::text NOT NULL,
    source_name text,
    failure text,
    requested_by uuid DEFAULT app.user_id(),
    requested_at timestamp with time zone DEFAULT app.now() NOT NULL,
    completed_at timestamp with time zone,
    brokerage_id uuid NOT NULL,
    account_lines jsonb,
    CONSTRAINT accounting_snapshots_pkey PRIMARY KEY (id),
    CONSTRAINT accounting_snapshots_id_deal_id_key UNIQUE (id, deal_id),
    CONSTRAINT accounting_snapshots_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT accounting_snapshots_requested_by_fkey FOREIGN KEY (requested_by) REFERENCES public.users(id),
    CONSTRAINT accounting_snapshots_account_lines_check CHECK (jsonb_typeof(account_lines) = 'object'::text AND length(account_lines::text) <= 262144),
    CONSTRAINT accounting_snapshots_failure_check CHECK (length(failure) <= 2000),
    CONSTRAINT accounting_snapshots_snapshot_type_check CHECK (snapshot_type = ANY (ARRAY['profit_and_loss'::text, 'customer_revenue'::text, 'full'::text])),
    CONSTRAINT accounting_snapshots_source_name_check CHECK (length(source_name) <= 255),
    CONSTRAINT accounting_snapshots_status_check CHECK (status = ANY (ARRAY['requested'::text, 'processing'::text, 'completed'::text, 'failed'::text]))
);
CREATE INDEX accounting_snapshots_by_author ON public.accounting_snapshots USING btree (requested_by);
CREATE INDEX accounting_snapshots_by_deal ON public.accounting_snapshots USING btree (deal_id, requested_at DESC, id DESC);
CREATE INDEX accounting_snapshots_completed ON public.accounting_snapshots USING btree (deal_id, completed_at DESC, id DESC) WHERE status = 'completed'::text;
CREATE INDEX snapshots_under_way ON public.accounting_snapshots USING btree (requested_at) WHERE status = ANY (ARRAY['requested'::text, 'processing'::text]);
ALTER TABLE public.accounting_snapshots ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.accounting_snapshots FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.accounting_snapshots TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY workspace_reads ON public.accounting_snapshots FOR SELECT TO dealkeep_server
    USING (deal_id = ANY ((( SELECT app.qoe_deals(false) AS qoe_deals))::uuid[]));
CREATE POLICY editors_add ON public.accounting_snapshots FOR INSERT TO dealkeep_server
    WITH CHECK ((deal_id = ANY ((( SELECT app.qoe_deals(true) AS qoe_deals))::uuid[])) OR (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['qoe:write'::text]) AS deals_acting_as))::uuid[])));
CREATE POLICY editors_change ON public.accounting_snapshots FOR UPDATE TO dealkeep_server
    USING ((deal_id = ANY ((( SELECT app.qoe_deals(true) AS qoe_deals))::uuid[])) OR (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['qoe:write'::text]) AS deals_acting_as))::uuid[])) AND (deal_id = ANY ((( SELECT app.qoe_deals(false) AS qoe_deals))::uuid[])));
CREATE TRIGGER a_has_room_today BEFORE INSERT ON public.accounting_snapshots FOR EACH ROW EXECUTE FUNCTION app.limit_a_day('100', 'requested_by', 'requested_at', 'snapshots');
CREATE TRIGGER a_keep_closed BEFORE INSERT ON public.accounting_snapshots FOR EACH ROW EXECUTE FUNCTION app.keep_closed();
CREATE TRIGGER a_keep_closed_update BEFORE UPDATE ON public.accounting_snapshots FOR EACH ROW WHEN (new.status <> 'failed'::text) EXECUTE FUNCTION app.keep_closed();
CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON public.accounting_snapshots FOR EACH ROW EXECUTE FUNCTION app.announce('qoe', 'id');
CREATE TRIGGER check_move BEFORE UPDATE OF status ON public.accounting_snapshots FOR EACH ROW EXECUTE FUNCTION app.check_move('snapshot', 'status');
CREATE TRIGGER limit_sandbox AFTER INSERT ON public.accounting_snapshots FOR EACH STATEMENT EXECUTE FUNCTION app.limit_sandbox('500', 'snapshots');
CREATE TRIGGER note_changed AFTER UPDATE ON public.accounting_snapshots REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('accounting_snapshot');
CREATE TRIGGER note_new AFTER INSERT ON public.accounting_snapshots REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('accounting_snapshot');
CREATE TRIGGER note_removed AFTER DELETE ON public.accounting_snapshots REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('accounting_snapshot');
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON public.accounting_snapshots FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();
CREATE TRIGGER stamp_completion BEFORE INSERT OR UPDATE OF status ON public.accounting_snapshots FOR EACH ROW EXECUTE FUNCTION app.stamp_completion('completed', 'failed');
GRANT INSERT (deal_id, snapshot_type, status, source_name, account_lines), SELECT (id, deal_id, snapshot_type, status, source_name, failure, requested_by, requested_at, completed_at, brokerage_id), UPDATE (status, failure) ON public.accounting_snapshots TO dealkeep_server;

CREATE TABLE public.answer_readings (
    deal_id uuid NOT NULL,
    user_id uuid DEFAULT app.user_id() NOT NULL,
    read_until timestamp with time zone DEFAULT app.now() NOT NULL,
    brokerage_id uuid NOT NULL,
    CONSTRAINT answer_readings_pkey PRIMARY KEY (deal_id, user_id),
    CONSTRAINT answer_readings_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT answer_readings_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id)
);
CREATE INDEX answer_readings_by_user ON public.answer_readings USING btree (user_id, deal_id) INCLUDE (read_until);
ALTER TABLE public.answer_readings ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.answer_readings FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.answer_readings TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY own ON public.answer_readings FOR SELECT TO dealkeep_server
    USING (user_id = (( SELECT app.user_id() AS user_id)));
CREATE POLICY buyers_sides_read ON public.answer_readings FOR INSERT TO dealkeep_server
    WITH CHECK (user_id = (( SELECT app.user_id() AS user_id)) AND (deal_id = ANY ((( SELECT app.deals_as(VARIADIC ARRAY['buyer'::text]) AS deals_as))::uuid[])));
CREATE POLICY own_changes ON public.answer_readings FOR UPDATE TO dealkeep_server
    USING (user_id = (( SELECT app.user_id() AS user_id)) AND (deal_id = ANY ((( SELECT app.deals_as(VARIADIC ARRAY['buyer'::text]) AS deals_as))::uuid[])));
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON public.answer_readings FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();
GRANT INSERT (deal_id), SELECT, UPDATE (read_until) ON public.answer_readings TO dealkeep_server;

CREATE TABLE public.api_keys (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    brokerage_id uuid NOT NULL,
    name text NOT NULL,
    environment text NOT NULL,
    scopes text[] NOT NULL,
    ceiling integer,
    last_four text NOT NULL,
    expires_at timestamp with time zone,
    created_by uuid NOT NULL,
    created_at timestamp with time zone DEFAULT app.now() NOT NULL,
    rotated_at timestamp with time zone,
    previous_last_four text,
    previous_valid_until timestamp with time zone,
    revoked_at timestamp with time zone,
    revoked_by uuid,
    last_used_at timestamp with time zone,
    CONSTRAINT api_keys_pkey PRIMARY KEY (id),
    CONSTRAINT api_keys_brokerage_id_fkey FOREIGN KEY (brokerage_id) REFERENCES public.brokerages(id),
    CONSTRAINT api_keys_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id),
    CONSTRAINT api_keys_revoked_by_fkey FOREIGN KEY (revoked_by) REFERENCES public.users(id),
    CONSTRAINT api_keys_ceiling_check CHECK (ceiling >= 1 AND ceiling <= 100000),
    CONSTRAINT api_keys_environment_check CHECK (environment = ANY (ARRAY['live'::text, 'test'::text])),
    CONSTRAINT api_keys_last_four_check CHECK (last_four ~ '^[0-9a-f]{4}$'::text),
    CONSTRAINT api_keys_name_check CHECK (length(name) >= 1 AND length(name) <= 100),
    CONSTRAINT api_keys_scopes_check CHECK (cardinality(scopes) > 0 AND scopes <@ '{contacts:read,contacts:write,deals:read,deals:write,participants:read,participants:write,offers:read,ndas:read,questions:read,documents:read,documents:content,documents:write,qoe:read,qoe:write,conditions:read,conditions:write,findings:read,financing:read,events:read,webhooks:read,webhooks:write}'::text[])
);
CREATE INDEX api_keys_by_brokerage ON public.api_keys USING btree (brokerage_id, created_at DESC, id DESC);
CREATE INDEX api_keys_by_creator ON public.api_keys USING btree (created_by);
CREATE INDEX api_keys_by_revoker ON public.api_keys USING btree (revoked_by) WHERE revoked_by IS NOT NULL;
ALTER TABLE public.api_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.api_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.api_keys TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY admins_see_them ON public.api_keys FOR SELECT TO dealkeep_server
    USING (brokerage_id = ANY ((( SELECT app.brokerages_as(VARIADIC ARRAY['admin'::text]) AS brokerages_as))::uuid[]));
CREATE TRIGGER make_sandbox AFTER INSERT ON public.api_keys FOR EACH ROW WHEN (new.environment = 'test'::text) EXECUTE FUNCTION app.make_sandbox();
GRANT SELECT ON public.api_keys TO dealkeep_server;

CREATE TABLE public.audit_records (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    at timestamp with time zone DEFAULT app.now() NOT NULL,
    brokerage_id uuid,
    deal_id uuid,
    user_id uuid,
    client_id uuid,
    key_id uuid,
    address inet,
    request_id text,
    action text NOT NULL,
    subject_id text,
    outcome text NOT NULL,
    details jsonb DEFAULT '{}'::jsonb NOT NULL,
    noted boolean DEFAULT true NOT NULL,
    CONSTRAINT audit_records_pkey PRIMARY KEY (id, at)
) PARTITION BY RANGE (at);
CREATE INDEX acts_by_brokerage ON ONLY public.audit_records USING btree (brokerage_id, action COLLATE "C", at DESC, id DESC) WHERE action !~~ 'tool:%'::text;
CREATE INDEX acts_by_user ON ONLY public.audit_records USING btree (user_id, action COLLATE "C", at DESC, id DESC) WHERE action !~~ 'tool:%'::text;
CREATE INDEX addresses_by_key ON ONLY public.audit_records USING btree (key_id, at) WHERE key_id IS NOT NULL AND address IS NOT NULL;
CREATE INDEX addresses_of_nobody ON ONLY public.audit_records USING btree (at) WHERE user_id IS NULL AND brokerage_id IS NULL AND address IS NOT NULL;
CREATE INDEX noted_by_deal ON ONLY public.audit_records USING btree (deal_id, at DESC, id DESC) WHERE noted AND deal_id IS NOT NULL;
CREATE INDEX noted_by_user ON ONLY public.audit_records USING btree (user_id, (
CASE
    WHEN noted THEN deal_id
    ELSE NULL::uuid
END), at DESC, id DESC) WHERE noted AND deal_id IS NOT NULL;
CREATE INDEX records_by_brokerage ON ONLY public.audit_records USING btree (brokerage_id, at DESC, id DESC);
CREATE INDEX records_by_deal ON ONLY public.audit_records USING btree (deal_id, at DESC, id DESC);
CREATE INDEX records_by_user ON ONLY public.audit_records USING btree (user_id, at DESC, id DESC);
CREATE INDEX refused_by_brokerage ON ONLY public.audit_records USING btree (brokerage_id, at DESC, id DESC) WHERE outcome <> ALL (ARRAY['done'::text, 'ok'::text]);
CREATE INDEX refused_by_user ON ONLY public.audit_records USING btree (user_id, at DESC, id DESC) WHERE outcome <> ALL (ARRAY['done'::text, 'ok'::text]);
ALTER TABLE public.audit_records ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.audit_records FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.audit_records TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY brokers_of_the_deal ON public.audit_records FOR SELECT TO dealkeep_server
    USING (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['broker'::text]) AS deals_acting_as))::uuid[]));
CREATE POLICY own_and_admins ON public.audit_records FOR SELECT TO dealkeep_server
    USING (user_id = (( SELECT app.user_id() AS user_id)) OR (brokerage_id = ANY ((( SELECT app.brokerages_as(VARIADIC ARRAY['admin'::text]) AS brokerages_as))::uuid[])));
CREATE TRIGGER note_done AFTER INSERT ON public.audit_records FOR EACH ROW WHEN (new.noted) EXECUTE FUNCTION app.note_done();
GRANT SELECT ON public.audit_records TO dealkeep_server;

CREATE TABLE public.brokerage_logos (
    brokerage_id uuid NOT NULL,
    media_type text NOT NULL,
    width integer NOT NULL,
    height integer NOT NULL,
    picture bytea NOT NULL,
    updated_at timestamp with time zone DEFAULT app.now() NOT NULL,
    CONSTRAINT brokerage_logos_pkey PRIMARY KEY (brokerage_id),
    CONSTRAINT brokerage_logos_brokerage_id_fkey FOREIGN KEY (brokerage_id) REFERENCES public.brokerages(id),
    CONSTRAINT brokerage_logos_height_check CHECK (height >= 1 AND height <= 2000),
    CONSTRAINT brokerage_logos_media_type_check CHECK (media_type = ANY (ARRAY['image/png'::text, 'image/jpeg'::text, 'image/webp'::text])),
    CONSTRAINT brokerage_logos_picture_check CHECK (length(picture) >= 1 AND length(picture) <= 200000),
    CONSTRAINT brokerage_logos_width_check CHECK (width >= 1 AND width <= 2000)
);
ALTER TABLE public.brokerage_logos ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.brokerage_logos FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.brokerage_logos TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY with_the_brokerage ON public.brokerage_logos FOR SELECT TO dealkeep_server
    USING ((EXISTS ( SELECT
   FROM public.brokerages b
  WHERE b.id = brokerage_logos.brokerage_id)));
CREATE POLICY admins_add_it ON public.brokerage_logos FOR INSERT TO dealkeep_server
    WITH CHECK (brokerage_id = ANY ((( SELECT app.brokerages_as(VARIADIC ARRAY['admin'::text]) AS brokerages_as))::uuid[]));
CREATE POLICY admins_change_it ON public.brokerage_logos FOR UPDATE TO dealkeep_server
    USING (brokerage_id = ANY ((( SELECT app.brokerages_as(VARIADIC ARRAY['admin'::text]) AS brokerages_as))::uuid[]));
CREATE POLICY admins_remove_it ON public.brokerage_logos FOR DELETE TO dealkeep_server
    USING (brokerage_id = ANY ((( SELECT app.brokerages_as(VARIADIC ARRAY['admin'::text]) AS brokerages_as))::uuid[]));
CREATE TRIGGER touch BEFORE UPDATE ON public.brokerage_logos FOR EACH ROW EXECUTE FUNCTION app.touch();
GRANT DELETE, INSERT (brokerage_id, media_type, width, height, picture), SELECT, UPDATE (media_type, width, height, picture) ON public.brokerage_logos TO dealkeep_server;

CREATE TABLE public.brokerages (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    slug text NOT NULL,
    name text NOT NULL,
    requires_second_factor boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT app.now() NOT NULL,
    updated_at timestamp with time zone DEFAULT app.now() NOT NULL,
    admit_keys_by_default boolean DEFAULT false NOT NULL,
    sandbox_of uuid,
    reset_at timestamp with time zone,
    CONSTRAINT brokerages_pkey PRIMARY KEY (id),
    CONSTRAINT brokerages_sandbox_of_key UNIQUE (sandbox_of),
    CONSTRAINT brokerages_slug_key UNIQUE (slug),
    CONSTRAINT brokerages_sandbox_of_fkey FOREIGN KEY (sandbox_of) REFERENCES public.brokerages(id),
    CONSTRAINT brokerages_name_check CHECK (length(name) >= 1 AND length(name) <= 200),
    CONSTRAINT brokerages_reset_check CHECK ((sandbox_of IS NULL) = (reset_at IS NULL)),
    CONSTRAINT brokerages_sandbox_check CHECK (sandbox_of <> id),
    CONSTRAINT brokerages_slug_check CHECK (slug ~ '^[a-z0-9](-?[a-z0-9])*$'::text AND length(slug) <= 64)
);
ALTER TABLE public.brokerages ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.brokerages FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.brokerages TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY by_a_deal_of_theirs ON public.brokerages FOR SELECT TO dealkeep_server
    USING (id = ANY ((( SELECT app.brokerages_of_deals() AS brokerages_of_deals))::uuid[]));
CREATE POLICY members_see_it ON public.brokerages FOR SELECT TO dealkeep_server
    USING (id = ANY ((( SELECT app.brokerages_as(VARIADIC ARRAY['admin'::text, 'broker'::text, 'staff'::text]) AS brokerages_as))::uuid[]));
CREATE POLICY admins_change_it ON public.brokerages FOR UPDATE TO dealkeep_server
    USING (id = ANY ((( SELECT app.brokerages_as(VARIADIC ARRAY['admin'::text]) AS brokerages_as))::uuid[]));
CREATE TRIGGER note_factor_required AFTER UPDATE OF requires_second_factor ON public.brokerages FOR EACH ROW WHEN (new.requires_second_factor AND NOT old.requires_second_factor) EXECUTE FUNCTION app.note_factor_required();
CREATE TRIGGER touch BEFORE UPDATE ON public.brokerages FOR EACH ROW EXECUTE FUNCTION app.touch();
GRANT SELECT, UPDATE (name) ON public.brokerages TO dealkeep_server;

CREATE TABLE public.change_events (
    seq bigint DEFAULT nextval('vault.change_order'::regclass) NOT NULL,
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    brokerage_id uuid NOT NULL,
    about_deal uuid,
    object_type text NOT NULL,
    object_id uuid NOT NULL,
    change app.change_kind NOT NULL,
    at timestamp(3) with time zone DEFAULT app.now() NOT NULL,
    CONSTRAINT change_events_pkey PRIMARY KEY (brokerage_id, seq)
);
CREATE INDEX change_events_by_number ON public.change_events USING btree ((seq + 0));
ALTER TABLE public.change_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.change_events FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.change_events TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY keys_with_the_scope ON public.change_events FOR SELECT TO dealkeep_server
    USING (
CASE object_type
    WHEN 'contact'::text THEN brokerage_id = (( SELECT app.key_brokerage('contacts:read'::text) AS key_brokerage))
    WHEN 'deal'::text THEN (about_deal IN ( SELECT unnest(( SELECT app.deals_as(VARIADIC ARRAY['deals:read'::text]) AS deals_as)) AS unnest)) OR change::text = 'removed'::text AND brokerage_id = (( SELECT app.key_brokerage('deals:read'::text) AS key_brokerage))
    WHEN 'participant'::text THEN (about_deal IN ( SELECT unnest(( SELECT app.deals_as(VARIADIC ARRAY['participants:read'::text]) AS deals_as)) AS unnest))
    WHEN 'nda'::text THEN (about_deal IN ( SELECT unnest(( SELECT app.deals_as(VARIADIC ARRAY['ndas:read'::text]) AS deals_as)) AS unnest))
    WHEN 'offer'::text THEN (about_deal IN ( SELECT unnest(( SELECT app.deals_as(VARIADIC ARRAY['offers:read'::text]) AS deals_as)) AS unnest))
    WHEN 'question'::text THEN (about_deal IN ( SELECT unnest(( SELECT app.deals_as(VARIADIC ARRAY['questions:read'::text]) AS deals_as)) AS unnest))
    WHEN 'document'::text THEN (about_deal IN ( SELECT unnest(( SELECT app.deals_as(VARIADIC ARRAY['documents:read'::text]) AS deals_as)) AS unnest))
    WHEN 'production_document'::text THEN (about_deal IN ( SELECT unnest(( SELECT app.deals_as(VARIADIC ARRAY['documents:read'::text]) AS deals_as)) AS unnest))
    WHEN 'qoe_checklist_item'::text THEN (about_deal IN ( SELECT unnest(( SELECT app.deals_as(VARIADIC ARRAY['qoe:read'::text]) AS deals_as)) AS unnest))
    WHEN 'accounting_snapshot'::text THEN (about_deal IN ( SELECT unnest(( SELECT app.deals_as(VARIADIC ARRAY['qoe:read'::text]) AS deals_as)) AS unnest))
    WHEN 'normalization'::text THEN (about_deal IN ( SELECT unnest(( SELECT app.deals_as(VARIADIC ARRAY['qoe:read'::text]) AS deals_as)) AS unnest))
    WHEN 'closing_condition'::text THEN (about_deal IN ( SELECT unnest(( SELECT app.deals_as(VARIADIC ARRAY['conditions:read'::text]) AS deals_as)) AS unnest))
    WHEN 'finding'::text THEN (about_deal IN ( SELECT unnest(( SELECT app.deals_as(VARIADIC ARRAY['findings:read'::text]) AS deals_as)) AS unnest))
    WHEN 'financing_source'::text THEN (about_deal IN ( SELECT unnest(( SELECT app.deals_as(VARIADIC ARRAY['financing:read'::text]) AS deals_as)) AS unnest))
    ELSE false
END);
GRANT SELECT ON public.change_events TO dealkeep_server;

CREATE TABLE public.closing_conditions (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    deal_id uuid NOT NULL,
    name text NOT NULL,
    status text DEFAULT 'open'::text NOT NULL,
    owner_user_id uuid,
    deadline date,
    completed_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT app.now() NOT NULL,
    updated_at timestamp with time zone DEFAULT app.now() NOT NULL,
    brokerage_id uuid NOT NULL,
    CONSTRAINT closing_conditions_pkey PRIMARY KEY (id),
    CONSTRAINT closing_conditions_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT closing_conditions_owner_user_id_fkey FOREIGN KEY (owner_user_id) REFERENCES public.users(id),
    CONSTRAINT closing_conditions_name_check CHECK (length(name) >= 1 AND length(name) <= 200),
    CONSTRAINT closing_conditions_status_check CHECK (status = ANY (ARRAY['open'::text, 'in_progress'::text, 'satisfied'::text, 'waived'::text]))
);
CREATE INDEX closing_conditions_by_deal ON public.closing_conditions USING btree (deal_id, created_at DESC, id DESC);
CREATE INDEX closing_conditions_by_owner ON public.closing_conditions USING btree (owner_user_id) WHERE owner_user_id IS NOT NULL;
CREATE INDEX conditions_to_meet ON public.closing_conditions USING btree (deal_id, deadline) WHERE status = ANY (ARRAY['open'::text, 'in_progress'::text]);
CREATE INDEX conditions_to_meet_by_owner ON public.closing_conditions USING btree (owner_user_id, deadline) INCLUDE (deal_id) WHERE status = ANY (ARRAY['open'::text, 'in_progress'::text]);
ALTER TABLE public.closing_conditions ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.closing_conditions FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.closing_conditions TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY all_but_other_buyers_see_it ON public.closing_conditions FOR SELECT TO dealkeep_server
    USING ((deal_id = ANY ((( SELECT app.deals_as(VARIADIC ARRAY['broker'::text, 'seller'::text, 'viewer'::text, 'conditions:read'::text]) AS deals_as))::uuid[])) OR (deal_id = ANY ((( SELECT app.deals_as_selected_buyer() AS deals_as_selected_buyer))::uuid[])) OR ((( SELECT d.organization_id
   FROM public.deals d
  WHERE d.id = closing_conditions.deal_id)) = ANY ((( SELECT app.brokerages_as(VARIADIC ARRAY['admin'::text]) AS brokerages_as))::uuid[])));
CREATE POLICY brokers_add ON public.closing_conditions FOR INSERT TO dealkeep_server
    WITH CHECK (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['broker'::text, 'conditions:write'::text]) AS deals_acting_as))::uuid[]));
CREATE POLICY brokers_and_owners_change ON public.closing_conditions FOR UPDATE TO dealkeep_server
    USING ((deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['broker'::text]) AS deals_acting_as))::uuid[])) OR (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['conditions:write'::text]) AS deals_acting_as))::uuid[])) AND (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['conditions:read'::text]) AS deals_acting_as))::uuid[])) OR owner_user_id = (( SELECT app.user_id() AS user_id)) AND (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['seller'::text, 'buyer'::text, 'advisor'::text]) AS deals_acting_as))::uuid[])) AND ((deal_id = ANY ((( SELECT app.deals_as(VARIADIC ARRAY['broker'::text, 'seller'::text, 'viewer'::text]) AS deals_as))::uuid[])) OR (deal_id = ANY ((( SELECT app.deals_as_selected_buyer() AS deals_as_selected_buyer))::uuid[]))));
CREATE POLICY brokers_take_out ON public.closing_conditions FOR DELETE TO dealkeep_server
    USING ((deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['broker'::text]) AS deals_acting_as))::uuid[])) OR (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['conditions:write'::text]) AS deals_acting_as))::uuid[])) AND (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['conditions:read'::text]) AS deals_acting_as))::uuid[])));
CREATE TRIGGER a_has_room BEFORE INSERT ON public.closing_conditions FOR EACH ROW EXECUTE FUNCTION app.limit_of_deal('500', 'closing conditions');
CREATE TRIGGER a_keep_closed BEFORE INSERT OR DELETE OR UPDATE ON public.closing_conditions FOR EACH ROW EXECUTE FUNCTION app.keep_closed();
CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON public.closing_conditions FOR EACH ROW EXECUTE FUNCTION app.announce('conditions', 'id');
CREATE TRIGGER check_change BEFORE UPDATE ON public.closing_conditions FOR EACH ROW EXECUTE FUNCTION app.check_condition_change();
CREATE TRIGGER check_move BEFORE UPDATE OF status ON public.closing_conditions FOR EACH ROW EXECUTE FUNCTION app.check_move('closing_condition', 'status');
CREATE TRIGGER check_owner BEFORE INSERT OR UPDATE OF owner_user_id ON public.closing_conditions FOR EACH ROW EXECUTE FUNCTION app.check_owner_takes_part();
CREATE TRIGGER keep_reminders AFTER INSERT OR DELETE OR UPDATE OF status, deadline ON public.closing_conditions FOR EACH ROW EXECUTE FUNCTION app.keep_reminders();
CREATE TRIGGER limit_sandbox AFTER INSERT ON public.closing_conditions FOR EACH STATEMENT EXECUTE FUNCTION app.limit_sandbox('1000', 'closing conditions');
CREATE TRIGGER note_changed AFTER UPDATE ON public.closing_conditions REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('closing_condition');
CREATE TRIGGER note_new AFTER INSERT ON public.closing_conditions REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('closing_condition');
CREATE TRIGGER note_removed AFTER DELETE ON public.closing_conditions REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('closing_condition');
CREATE TRIGGER queue_assignment AFTER INSERT ON public.closing_conditions FOR EACH ROW WHEN (new.owner_user_id IS NOT NULL) EXECUTE FUNCTION app.queue_assignment('condition_assigned');
CREATE TRIGGER queue_moved_deadline AFTER UPDATE OF deadline ON public.closing_conditions FOR EACH ROW WHEN (new.deadline IS DISTINCT FROM old.deadline) EXECUTE FUNCTION app.queue_moved_deadline();
CREATE TRIGGER queue_new_assignment AFTER UPDATE OF owner_user_id ON public.closing_conditions FOR EACH ROW WHEN (new.owner_user_id IS DISTINCT FROM old.owner_user_id) EXECUTE FUNCTION app.queue_assignment('condition_assigned');
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON public.closing_conditions FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();
CREATE TRIGGER stamp_completion BEFORE INSERT OR UPDATE OF status ON public.closing_conditions FOR EACH ROW EXECUTE FUNCTION app.stamp_completion('satisfied', 'waived');
CREATE TRIGGER touch BEFORE UPDATE ON public.closing_conditions FOR EACH ROW EXECUTE FUNCTION app.touch();
GRANT DELETE, INSERT (deal_id, name, status, owner_user_id, deadline), SELECT, UPDATE (name, status, owner_user_id, deadline) ON public.closing_conditions TO dealkeep_server;

CREATE TABLE public.connected_clients (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    created_by uuid DEFAULT app.user_id() NOT NULL,
    brokerage_id uuid,
    name text NOT NULL,
    redirect_uris text[] NOT NULL,
    disabled boolean DEFAULT false NOT NULL,
    deleted_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT app.now() NOT NULL,
    updated_at timestamp with time zone DEFAULT app.now() NOT NULL,
    metadata_url text,
    CONSTRAINT connected_clients_pkey PRIMARY KEY (id),
    CONSTRAINT connected_clients_brokerage_id_fkey FOREIGN KEY (brokerage_id) REFERENCES public.brokerages(id),
    CONSTRAINT connected_clients_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id),
    CONSTRAINT connected_clients_document_is_of_one_person CHECK (metadata_url IS NULL OR brokerage_id IS NULL),
    CONSTRAINT connected_clients_metadata_url_check CHECK (length(metadata_url) <= 1000 AND metadata_url ~ '^https://[^/?#@ ]+/[!-~]+$'::text AND metadata_url !~ '[#"<>\\]'::text),
    CONSTRAINT connected_clients_name_check CHECK (length(name) >= 1 AND length(name) <= 100 AND name = btrim(name) AND name !~ '[[:cntrl:]\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]'::text),
    CONSTRAINT connected_clients_redirect_uris_check CHECK (app.redirect_uris_allowed(redirect_uris))
);
CREATE INDEX connected_clients_by_brokerage ON public.connected_clients USING btree (brokerage_id) WHERE brokerage_id IS NOT NULL;
CREATE INDEX connected_clients_by_creator ON public.connected_clients USING btree (created_by, created_at DESC);
CREATE UNIQUE INDEX connected_clients_by_document ON public.connected_clients USING btree (metadata_url, created_by) WHERE metadata_url IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX connected_clients_deleted ON public.connected_clients USING btree (deleted_at) WHERE deleted_at IS NOT NULL AND brokerage_id IS NULL AND metadata_url IS NULL AND redirect_uris <> '{}'::text[];
ALTER TABLE public.connected_clients ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.connected_clients FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.connected_clients TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY creators_and_members_see_it ON public.connected_clients FOR SELECT TO dealkeep_server
    USING (deleted_at IS NULL AND (brokerage_id IS NULL AND created_by = (( SELECT app.user_id() AS user_id)) OR (brokerage_id = ANY ((( SELECT app.brokerages_as(VARIADIC ARRAY['admin'::text, 'broker'::text, 'staff'::text]) AS brokerages_as))::uuid[]))));
CREATE POLICY people_make_their_own ON public.connected_clients FOR INSERT TO dealkeep_server
    WITH CHECK (created_by = (( SELECT app.user_id() AS user_id)) AND (( SELECT app.client_id() AS client_id)) IS NULL);
CREATE POLICY admins_manage_shared_ones ON public.connected_clients FOR UPDATE TO dealkeep_server
    USING ((brokerage_id = ANY ((( SELECT app.brokerages_as(VARIADIC ARRAY['admin'::text]) AS brokerages_as))::uuid[])) AND (( SELECT app.client_id() AS client_id)) IS NULL);
CREATE POLICY creators_manage_their_own ON public.connected_clients FOR UPDATE TO dealkeep_server
    USING (brokerage_id IS NULL AND created_by = (( SELECT app.user_id() AS user_id)) AND (( SELECT app.client_id() AS client_id)) IS NULL)
    WITH CHECK (created_by = (( SELECT app.user_id() AS user_id)) AND (brokerage_id IS NULL OR (brokerage_id = ANY ((( SELECT app.brokerages_as(VARIADIC ARRAY['admin'::text]) AS brokerages_as))::uuid[]))));
CREATE TRIGGER check_count BEFORE INSERT ON public.connected_clients FOR EACH ROW EXECUTE FUNCTION app.check_client_count();
CREATE TRIGGER end_grants AFTER UPDATE OF name, redirect_uris, brokerage_id, disabled ON public.connected_clients FOR EACH ROW EXECUTE FUNCTION app.end_grants_with_change();
CREATE TRIGGER guard_document_client BEFORE UPDATE OF name, redirect_uris ON public.connected_clients FOR EACH ROW WHEN (old.metadata_url IS NOT NULL AND (new.name <> old.name OR new.redirect_uris <> old.redirect_uris)) EXECUTE FUNCTION app.guard_document_client();
CREATE TRIGGER guard_sharing BEFORE UPDATE OF brokerage_id, redirect_uris ON public.connected_clients FOR EACH ROW WHEN (new.brokerage_id IS NOT NULL AND (new.brokerage_id IS DISTINCT FROM old.brokerage_id OR new.redirect_uris <> old.redirect_uris)) EXECUTE FUNCTION app.guard_recent_sign_in();
CREATE TRIGGER hold_session BEFORE INSERT ON public.connected_clients FOR EACH ROW EXECUTE FUNCTION app.hold_session_of_change();
CREATE TRIGGER stay_shared BEFORE UPDATE OF brokerage_id ON public.connected_clients FOR EACH ROW WHEN (old.brokerage_id IS NOT NULL AND new.brokerage_id IS NOT NULL AND new.brokerage_id <> old.brokerage_id) EXECUTE FUNCTION app.keep_shared_client();
CREATE TRIGGER touch BEFORE UPDATE ON public.connected_clients FOR EACH ROW EXECUTE FUNCTION app.touch();
GRANT INSERT (name, redirect_uris), SELECT, UPDATE (brokerage_id, name, redirect_uris, disabled) ON public.connected_clients TO dealkeep_server;

CREATE TABLE public.contacts (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    brokerage_id uuid NOT NULL,
    type text NOT NULL,
    display_name text NOT NULL,
    email text,
    phone text,
    created_by uuid DEFAULT app.user_id(),
    created_by_key uuid DEFAULT app.key_id(),
    created_at timestamp(3) with time zone DEFAULT app.now() NOT NULL,
    updated_at timestamp(3) with time zone DEFAULT app.now() NOT NULL,
    archived_at timestamp(3) with time zone,
    external_id text,
    version integer DEFAULT 1 NOT NULL,
    merged_into uuid,
    erased_at timestamp(3) with time zone,
    CONSTRAINT contacts_pkey PRIMARY KEY (id),
    CONSTRAINT contacts_brokerage_id_fkey FOREIGN KEY (brokerage_id) REFERENCES public.brokerages(id),
    CONSTRAINT contacts_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id),
    CONSTRAINT contacts_check CHECK (app.is_contact(id, type, display_name, email, phone, archived_at, external_id, merged_into))
);
CREATE INDEX contacts_archived ON public.contacts USING btree (brokerage_id, created_at DESC, id DESC) WHERE archived_at IS NOT NULL;
CREATE INDEX contacts_archived_by_email ON public.contacts USING btree (brokerage_id, lower(email), id) WHERE archived_at IS NOT NULL AND email IS NOT NULL;
CREATE INDEX contacts_archived_by_folded_name ON public.contacts USING btree (brokerage_id, app.folded("left"(display_name, 100)), id) WHERE archived_at IS NOT NULL;
CREATE INDEX contacts_archived_by_update ON public.contacts USING btree (brokerage_id, type, updated_at, id) WHERE archived_at IS NOT NULL;
CREATE INDEX contacts_by_author ON public.contacts USING btree (created_by) WHERE created_by IS NOT NULL;
CREATE INDEX contacts_by_email ON public.contacts USING btree (brokerage_id, lower(email), id) WHERE archived_at IS NULL AND email IS NOT NULL;
CREATE UNIQUE INDEX contacts_by_external_id ON public.contacts USING btree (brokerage_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX contacts_by_folded_name ON public.contacts USING btree (brokerage_id, app.folded("left"(display_name, 100)), id) WHERE archived_at IS NULL;
CREATE INDEX contacts_by_folded_words ON public.contacts USING gin (brokerage_id, app.contact_words(display_name, email, phone) extensions.gin_trgm_ops);
CREATE INDEX contacts_by_type ON public.contacts USING btree (brokerage_id, type, created_at DESC, id DESC) WHERE archived_at IS NULL;
CREATE INDEX contacts_by_type_and_folded_name ON public.contacts USING btree (brokerage_id, type, app.folded("left"(display_name, 100)), id) WHERE archived_at IS NULL;
CREATE INDEX contacts_by_update ON public.contacts USING btree (brokerage_id, type, updated_at, id) WHERE archived_at IS NULL;
CREATE INDEX contacts_in_order ON public.contacts USING btree (brokerage_id, created_at DESC, id DESC) WHERE archived_at IS NULL;
CREATE INDEX contacts_merged ON public.contacts USING btree (merged_into) WHERE merged_into IS NOT NULL;
ALTER TABLE public.contacts ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.contacts FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.contacts TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY members_and_keys_see_them ON public.contacts FOR SELECT TO dealkeep_server
    USING (brokerage_id = ANY ((( SELECT app.brokerages_for('contacts:read'::text) AS brokerages_for))::uuid[]));
CREATE POLICY members_and_keys_add_them ON public.contacts FOR INSERT TO dealkeep_server
    WITH CHECK (brokerage_id = ANY ((( SELECT app.brokerages_for('contacts:write'::text) AS brokerages_for))::uuid[]));
CREATE POLICY members_and_keys_change_them ON public.contacts FOR UPDATE TO dealkeep_server
    USING ((brokerage_id = ANY ((( SELECT app.brokerages_for('contacts:write'::text) AS brokerages_for))::uuid[])) AND (brokerage_id = ANY ((( SELECT app.brokerages_for('contacts:read'::text) AS brokerages_for))::uuid[])));
CREATE TRIGGER note_changed AFTER UPDATE ON public.contacts REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_contacts();
CREATE TRIGGER note_new AFTER INSERT ON public.contacts FOR EACH ROW EXECUTE FUNCTION app.note_new_contact('5000');
CREATE TRIGGER note_removed AFTER DELETE ON public.contacts REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_contacts();
CREATE TRIGGER touch BEFORE UPDATE ON public.contacts FOR EACH ROW EXECUTE FUNCTION app.touch();
CREATE TRIGGER track_contact BEFORE UPDATE ON public.contacts FOR EACH ROW EXECUTE FUNCTION app.track_contact();
GRANT INSERT (brokerage_id, type, display_name, email, phone, external_id), SELECT, UPDATE (type, display_name, email, phone, archived_at, external_id) ON public.contacts TO dealkeep_server;

CREATE TABLE public.contradiction_answers (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    deal_id uuid NOT NULL,
    contradiction text NOT NULL,
    figures text NOT NULL,
    status text NOT NULL,
    why text NOT NULL,
    answered_by uuid DEFAULT app.user_id(),
    answered_at timestamp with time zone DEFAULT app.now() NOT NULL,
    released_by uuid,
    released_at timestamp with time zone,
    brokerage_id uuid NOT NULL,
    CONSTRAINT contradiction_answers_pkey PRIMARY KEY (id),
    CONSTRAINT contradiction_answers_deal_id_contradiction_key UNIQUE (deal_id, contradiction),
    CONSTRAINT contradiction_answers_answered_by_fkey FOREIGN KEY (answered_by) REFERENCES public.users(id),
    CONSTRAINT contradiction_answers_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT contradiction_answers_released_by_fkey FOREIGN KEY (released_by) REFERENCES public.users(id),
    CONSTRAINT contradiction_answers_contradiction_check CHECK (contradiction ~ '^[0-9a-f]{32}$'::text),
    CONSTRAINT contradiction_answers_figures_check CHECK (figures ~ '^[0-9a-f]{32}$'::text),
    CONSTRAINT contradiction_answers_status_check CHECK (status = ANY (ARRAY['explained'::text, 'to_correct'::text])),
    CONSTRAINT contradiction_answers_why_check CHECK (length(why) >= 1 AND length(why) <= 2000)
);
CREATE INDEX contradiction_answers_by_author ON public.contradiction_answers USING btree (answered_by);
CREATE INDEX contradiction_answers_by_releaser ON public.contradiction_answers USING btree (released_by);
ALTER TABLE public.contradiction_answers ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.contradiction_answers FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.contradiction_answers TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY deal_side_sees_them ON public.contradiction_answers FOR SELECT TO dealkeep_server
    USING (deal_id = ANY ((( SELECT app.deals_as(VARIADIC ARRAY['broker'::text, 'seller'::text]) AS deals_as))::uuid[]));
CREATE POLICY workspace_sees_released ON public.contradiction_answers FOR SELECT TO dealkeep_server
    USING (released_at IS NOT NULL AND (deal_id = ANY ((( SELECT app.qoe_deals(false) AS qoe_deals))::uuid[])) AND (deal_id = ANY ((( SELECT app.deals_as(VARIADIC ARRAY['buyer'::text, 'viewer'::text]) AS deals_as))::uuid[])));
CREATE POLICY brokers_answer ON public.contradiction_answers FOR INSERT TO dealkeep_server
    WITH CHECK (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['broker'::text]) AS deals_acting_as))::uuid[]));
CREATE POLICY brokers_change ON public.contradiction_answers FOR UPDATE TO dealkeep_server
    USING (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['broker'::text]) AS deals_acting_as))::uuid[]));
CREATE POLICY brokers_take_back ON public.contradiction_answers FOR DELETE TO dealkeep_server
    USING (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['broker'::text]) AS deals_acting_as))::uuid[]));
CREATE TRIGGER a_has_room BEFORE INSERT ON public.contradiction_answers FOR EACH ROW EXECUTE FUNCTION app.limit_of_deal('500', 'answers to contradictions');
CREATE TRIGGER a_keep_closed BEFORE INSERT OR DELETE OR UPDATE ON public.contradiction_answers FOR EACH ROW EXECUTE FUNCTION app.keep_closed();
CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON public.contradiction_answers FOR EACH ROW EXECUTE FUNCTION app.announce_contradiction_answer();
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON public.contradiction_answers FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();
CREATE TRIGGER stamp BEFORE UPDATE ON public.contradiction_answers FOR EACH ROW EXECUTE FUNCTION app.stamp_contradiction_answer();
GRANT DELETE, INSERT (deal_id, contradiction, figures, status, why), SELECT, UPDATE (figures, status, why, released_at) ON public.contradiction_answers TO dealkeep_server;

CREATE TABLE public.customer_revenues (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    deal_id uuid NOT NULL,
    snapshot_id uuid NOT NULL,
    customer_name text NOT NULL,
    period_start_date date NOT NULL,
    period_end_date date NOT NULL,
    currency text NOT NULL,
    revenue_total numeric(20,4) NOT NULL,
    brokerage_id uuid NOT NULL,
    CONSTRAINT customer_revenues_pkey PRIMARY KEY (id),
    CONSTRAINT customer_revenues_snapshot_id_period_start_date_period_end__key UNIQUE (snapshot_id, period_start_date, period_end_date, customer_name),
    CONSTRAINT customer_revenues_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT customer_revenues_snapshot_id_deal_id_fkey FOREIGN KEY (snapshot_id, deal_id) REFERENCES public.accounting_snapshots(id, deal_id),
    CONSTRAINT customer_revenues_check CHECK (period_end_date >= period_start_date),
    CONSTRAINT customer_revenues_currency_check CHECK (currency ~ '^[A-Z]{3}$'::text),
    CONSTRAINT customer_revenues_customer_name_check CHECK (length(customer_name) >= 1 AND length(customer_name) <= 200)
);
CREATE INDEX customer_revenues_by_snapshot ON public.customer_revenues USING btree (deal_id, snapshot_id, period_start_date DESC, revenue_total DESC, id);
ALTER TABLE public.customer_revenues ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.customer_revenues FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.customer_revenues TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY workspace_reads ON public.customer_revenues FOR SELECT TO dealkeep_server
    USING (deal_id = ANY ((( SELECT app.qoe_deals(false) AS qoe_deals))::uuid[]));
CREATE POLICY editors_add ON public.customer_revenues FOR INSERT TO dealkeep_server
    WITH CHECK ((deal_id = ANY ((( SELECT app.qoe_deals(true) AS qoe_deals))::uuid[])) OR (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['qoe:write'::text]) AS deals_acting_as))::uuid[])));
CREATE POLICY not_after_the_end ON public.customer_revenues AS RESTRICTIVE FOR INSERT TO dealkeep_server
    WITH CHECK (NOT app.upload_has_ended(snapshot_id));
CREATE TRIGGER a_keep_closed_changed AFTER UPDATE ON public.customer_revenues REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.keep_closed_rows();
CREATE TRIGGER a_keep_closed_new AFTER INSERT ON public.customer_revenues REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.keep_closed_rows();
CREATE TRIGGER a_keep_closed_removed AFTER DELETE ON public.customer_revenues REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.keep_closed_rows();
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON public.customer_revenues FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();
GRANT INSERT (deal_id, snapshot_id, customer_name, period_start_date, period_end_date, currency, revenue_total), SELECT ON public.customer_revenues TO dealkeep_server;

CREATE TABLE public.deal_opt_ins (
    user_id uuid NOT NULL,
    deal_id uuid NOT NULL,
    expires_at timestamp with time zone,
    opted_in_at timestamp with time zone DEFAULT app.now() NOT NULL,
    brokerage_id uuid NOT NULL,
    CONSTRAINT deal_opt_ins_pkey PRIMARY KEY (user_id, deal_id),
    CONSTRAINT deal_opt_ins_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT deal_opt_ins_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id)
);
CREATE INDEX deal_opt_ins_by_deal ON public.deal_opt_ins USING btree (deal_id);
ALTER TABLE public.deal_opt_ins ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.deal_opt_ins FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.deal_opt_ins TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY own_on_visible_deals ON public.deal_opt_ins FOR SELECT TO dealkeep_server
    USING (user_id = (( SELECT app.user_id() AS user_id)) AND ( SELECT true
   FROM public.deals d
  WHERE d.id = deal_opt_ins.deal_id));
CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON public.deal_opt_ins FOR EACH ROW EXECUTE FUNCTION app.announce('tools', 'user_id');
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON public.deal_opt_ins FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();
GRANT SELECT ON public.deal_opt_ins TO dealkeep_server;

CREATE TABLE public.deal_stages (
    deal_id uuid NOT NULL,
    state text NOT NULL,
    updated_at timestamp with time zone DEFAULT app.now() NOT NULL,
    brokerage_id uuid NOT NULL,
    CONSTRAINT deal_stages_pkey PRIMARY KEY (deal_id),
    CONSTRAINT deal_stages_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id) DEFERRABLE INITIALLY DEFERRED,
    CONSTRAINT deal_stages_state_check CHECK (state = ANY (ARRAY['exclusivity'::text, 'diligence'::text, 'closing'::text]))
);
CREATE INDEX deal_stages_changed ON public.deal_stages USING btree (brokerage_id, updated_at);
ALTER TABLE public.deal_stages ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.deal_stages FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.deal_stages TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY all_but_other_buyers_see_it ON public.deal_stages FOR SELECT TO dealkeep_server
    USING ((deal_id = ANY ((( SELECT app.deals_as(VARIADIC ARRAY['broker'::text, 'seller'::text, 'viewer'::text, 'deals:read'::text]) AS deals_as))::uuid[])) OR (deal_id = ANY ((( SELECT app.deals_as_selected_buyer() AS deals_as_selected_buyer))::uuid[])) OR ((( SELECT d.organization_id
   FROM public.deals d
  WHERE d.id = deal_stages.deal_id)) = ANY ((( SELECT app.brokerages_as(VARIADIC ARRAY['admin'::text]) AS brokerages_as))::uuid[])));
CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON public.deal_stages FOR EACH ROW EXECUTE FUNCTION app.announce('deal', 'deal_id');
CREATE TRIGGER change_deals_of_people AFTER INSERT OR DELETE OR UPDATE ON public.deal_stages FOR EACH ROW EXECUTE FUNCTION app.change_deals_of_people();
CREATE TRIGGER note_changed AFTER UPDATE ON public.deal_stages REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes_of_parts('deal', 'deal_id');
CREATE TRIGGER note_new AFTER INSERT ON public.deal_stages REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes_of_parts('deal', 'deal_id');
CREATE TRIGGER note_removed AFTER DELETE ON public.deal_stages REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes_of_parts('deal', 'deal_id');
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON public.deal_stages FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();
GRANT SELECT ON public.deal_stages TO dealkeep_server;

CREATE TABLE public.deal_tool_stops (
    deal_id uuid NOT NULL,
    stopped_by uuid NOT NULL,
    stopped_at timestamp with time zone DEFAULT app.now() NOT NULL,
    brokerage_id uuid NOT NULL,
    CONSTRAINT deal_tool_stops_pkey PRIMARY KEY (deal_id),
    CONSTRAINT deal_tool_stops_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT deal_tool_stops_stopped_by_fkey FOREIGN KEY (stopped_by) REFERENCES public.users(id)
);
CREATE INDEX deal_tool_stops_by_user ON public.deal_tool_stops USING btree (stopped_by);
ALTER TABLE public.deal_tool_stops ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.deal_tool_stops FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.deal_tool_stops TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY with_the_deal ON public.deal_tool_stops FOR SELECT TO dealkeep_server
    USING (( SELECT true
   FROM public.deals d
  WHERE d.id = deal_tool_stops.deal_id));
CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON public.deal_tool_stops FOR EACH ROW EXECUTE FUNCTION app.announce('tools', 'deal_id');
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON public.deal_tool_stops FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();
GRANT SELECT ON public.deal_tool_stops TO dealkeep_server;

CREATE TABLE public.deals (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    organization_id uuid NOT NULL,
    title text NOT NULL,
    state text DEFAULT 'draft'::text NOT NULL,
    industry text,
    location text,
    summary text,
    asking_price numeric(20,4),
    currency text DEFAULT 'USD'::text NOT NULL,
    needs_nda boolean DEFAULT true NOT NULL,
    closed_at timestamp with time zone,
    created_by uuid,
    created_at timestamp with time zone DEFAULT app.now() NOT NULL,
    updated_at timestamp with time zone DEFAULT app.now() NOT NULL,
    keys_admitted boolean DEFAULT false NOT NULL,
    CONSTRAINT deals_pkey PRIMARY KEY (id),
    CONSTRAINT deals_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id),
    CONSTRAINT deals_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES public.brokerages(id),
    CONSTRAINT deals_asking_price_check CHECK (asking_price >= 0::numeric),
    CONSTRAINT deals_currency_check CHECK (currency ~ '^[A-Z]{3}$'::text),
    CONSTRAINT deals_industry_check CHECK (length(industry) <= 120),
    CONSTRAINT deals_location_check CHECK (length(location) <= 120),
    CONSTRAINT deals_state_check CHECK (state = ANY (ARRAY['draft'::text, 'listed'::text, 'under_offer'::text, 'exclusivity'::text, 'diligence'::text, 'closing'::text, 'closed'::text, 'withdrawn'::text])),
    CONSTRAINT deals_summary_check CHECK (length(summary) <= 8000),
    CONSTRAINT deals_title_check CHECK (length(title) >= 1 AND length(title) <= 200)
);
CREATE INDEX deals_by_author ON public.deals USING btree (created_by);
CREATE INDEX deals_by_brokerage ON public.deals USING btree (organization_id, created_at DESC, id DESC);
CREATE INDEX deals_changed_for_keys ON public.deals USING btree (organization_id, updated_at) WHERE keys_admitted;
CREATE INDEX deals_for_keys ON public.deals USING btree (organization_id, created_at DESC, id DESC) WHERE keys_admitted;
CREATE INDEX deals_in_order ON public.deals USING btree (id) INCLUDE (created_at, state, organization_id);
ALTER TABLE public.deals ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.deals FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.deals TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY participants_and_admins_see_it ON public.deals FOR SELECT TO dealkeep_server
    USING (app.deal_is_visible(id, organization_id, ( SELECT app.deals_as(VARIADIC ARRAY['broker'::text, 'seller'::text, 'buyer'::text, 'viewer'::text, 'deals:read'::text]) AS deals_as), ( SELECT app.brokerages_as(VARIADIC ARRAY['admin'::text]) AS brokerages_as)));
CREATE POLICY brokers_change_it ON public.deals FOR UPDATE TO dealkeep_server
    USING ((id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['broker'::text, 'deals:write'::text]) AS deals_acting_as))::uuid[])) AND (id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['broker'::text, 'deals:read'::text]) AS deals_acting_as))::uuid[])));
CREATE TRIGGER a_keep_closed BEFORE UPDATE ON public.deals FOR EACH ROW WHEN (old.state = 'closed'::text AND old.keys_admitted = new.keys_admitted) EXECUTE FUNCTION app.keep_closed();
CREATE TRIGGER announce AFTER INSERT OR DELETE ON public.deals FOR EACH ROW EXECUTE FUNCTION app.announce('deal', 'id');
CREATE TRIGGER announce_update AFTER UPDATE ON public.deals FOR EACH ROW WHEN (old.* IS DISTINCT FROM new.* AND old.keys_admitted = new.keys_admitted) EXECUTE FUNCTION app.announce('deal', 'id');
CREATE TRIGGER change_deals_of_people AFTER UPDATE ON public.deals FOR EACH ROW WHEN (old.* IS DISTINCT FROM new.*) EXECUTE FUNCTION app.change_deals_of_people('id');
CREATE TRIGGER end_exclusivity AFTER UPDATE OF state ON public.deals FOR EACH ROW EXECUTE FUNCTION app.end_exclusivity_with_deal();
CREATE TRIGGER keep_tenant BEFORE UPDATE OF organization_id ON public.deals FOR EACH ROW WHEN (new.organization_id <> old.organization_id) EXECUTE FUNCTION app.keep_tenant();
CREATE TRIGGER limit_sandbox AFTER INSERT ON public.deals FOR EACH STATEMENT EXECUTE FUNCTION app.limit_sandbox('100', 'deals');
CREATE TRIGGER load BEFORE INSERT ON public.deals FOR EACH ROW WHEN (new.state = ANY (ARRAY['exclusivity'::text, 'diligence'::text, 'closing'::text])) EXECUTE FUNCTION app.load_deal();
CREATE TRIGGER note_changed AFTER UPDATE ON public.deals REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_deals();
CREATE TRIGGER note_new AFTER INSERT ON public.deals REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_deals();
CREATE TRIGGER note_removed AFTER DELETE ON public.deals REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_deals();
CREATE TRIGGER settle BEFORE UPDATE OF state ON public.deals FOR EACH ROW EXECUTE FUNCTION app.settle_deal();
CREATE TRIGGER touch BEFORE UPDATE ON public.deals FOR EACH ROW WHEN (old.* IS DISTINCT FROM new.* AND old.keys_admitted = new.keys_admitted) EXECUTE FUNCTION app.touch();
GRANT SELECT, UPDATE (title, state, industry, location, summary, asking_price, currency, needs_nda) ON public.deals TO dealkeep_server;

CREATE TABLE public.document_openings (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    deal_id uuid NOT NULL,
    document_id uuid NOT NULL,
    source text NOT NULL,
    user_id uuid,
    opened_at timestamp with time zone DEFAULT app.now() NOT NULL,
    brokerage_id uuid NOT NULL,
    key_id uuid,
    CONSTRAINT document_openings_pkey PRIMARY KEY (id),
    CONSTRAINT document_openings_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT document_openings_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(id),
    CONSTRAINT document_openings_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id),
    CONSTRAINT document_openings_by_one_check CHECK (num_nonnulls(user_id, key_id) = 1),
    CONSTRAINT document_openings_source_check CHECK (source = ANY (ARRAY['simple'::text, 'production'::text]))
);
CREATE INDEX document_openings_by_deal ON public.document_openings USING btree (deal_id, opened_at DESC);
CREATE INDEX document_openings_by_document ON public.document_openings USING btree (document_id, opened_at DESC);
CREATE INDEX document_openings_by_key ON public.document_openings USING btree (key_id) WHERE key_id IS NOT NULL;
CREATE INDEX document_openings_by_user ON public.document_openings USING btree (user_id, opened_at DESC);
ALTER TABLE public.document_openings ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.document_openings FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.document_openings TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY deal_side_and_oneself ON public.document_openings FOR SELECT TO dealkeep_server
    USING ((deal_id = ANY ((( SELECT app.deals_as(VARIADIC ARRAY['broker'::text, 'seller'::text]) AS deals_as))::uuid[])) OR user_id = (( SELECT app.user_id() AS user_id)));
CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON public.document_openings FOR EACH ROW EXECUTE FUNCTION app.announce('documents', 'id');
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON public.document_openings FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();
GRANT SELECT ON public.document_openings TO dealkeep_server;

CREATE TABLE public.documents (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    deal_id uuid NOT NULL,
    filename text NOT NULL,
    category text NOT NULL,
    confidentiality text NOT NULL,
    size_bytes bigint NOT NULL,
    media_type text NOT NULL,
    sha256 bytea,
    storage_key text NOT NULL,
    uploaded_by uuid DEFAULT app.user_id(),
    uploaded_at timestamp with time zone DEFAULT app.now() NOT NULL,
    removed_at timestamp with time zone,
    body_cleared_at timestamp with time zone,
    brokerage_id uuid NOT NULL,
    confidentiality_before text,
    confidentiality_changed_at timestamp with time zone,
    CONSTRAINT documents_pkey PRIMARY KEY (id),
    CONSTRAINT documents_storage_key_key UNIQUE (storage_key),
    CONSTRAINT documents_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT documents_uploaded_by_fkey FOREIGN KEY (uploaded_by) REFERENCES public.users(id),
    CONSTRAINT documents_category_check CHECK (length(category) >= 1 AND length(category) <= 64),
    CONSTRAINT documents_confidentiality_check CHECK (confidentiality = ANY (ARRAY['public'::text, 'nda_gated'::text, 'selected_buyer_only'::text])),
    CONSTRAINT documents_filename_check CHECK (length(filename) >= 1 AND length(filename) <= 255 AND filename !~ '[/\\[:cntrl:]]'::text),
    CONSTRAINT documents_media_type_check CHECK (length(media_type) >= 1 AND length(media_type) <= 255),
    CONSTRAINT documents_sha256_check CHECK (length(sha256) = 32),
    CONSTRAINT documents_size_bytes_check CHECK (size_bytes >= 0)
);
CREATE INDEX documents_by_author ON public.documents USING btree (uploaded_by);
CREATE INDEX documents_by_confidentiality ON public.documents USING btree (deal_id, confidentiality COLLATE "C", uploaded_at DESC, id DESC) WHERE removed_at IS NULL;
CREATE INDEX documents_by_deal ON public.documents USING btree (deal_id, uploaded_at DESC, id DESC) WHERE removed_at IS NULL;
CREATE INDEX documents_of_day ON public.documents USING btree (deal_id, uploaded_by, uploaded_at);
CREATE INDEX documents_removed ON public.documents USING btree (deal_id, removed_at) WHERE removed_at IS NOT NULL;
CREATE INDEX documents_to_clear ON public.documents USING btree (removed_at) WHERE removed_at IS NOT NULL AND body_cleared_at IS NULL;
ALTER TABLE public.documents ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.documents FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.documents TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY by_confidentiality ON public.documents FOR SELECT TO dealkeep_server
    USING (removed_at IS NULL AND app.document_is_visible(deal_id, confidentiality, ( SELECT true
   FROM public.deals d
  WHERE d.id = documents.deal_id AND (( SELECT app.user_id() AS user_id)) IS NOT NULL), ( SELECT app.deals_as(VARIADIC ARRAY['broker'::text, 'seller'::text, 'documents:read'::text]) AS deals_as), ( SELECT app.deals_under_nda() AS deals_under_nda), ( SELECT app.deals_held_exclusively() AS deals_held_exclusively)));
CREATE POLICY deal_side_adds ON public.documents FOR INSERT TO dealkeep_server
    WITH CHECK (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['broker'::text, 'seller'::text, 'documents:write'::text]) AS deals_acting_as))::uuid[]));
CREATE POLICY deal_side_changes ON public.documents FOR UPDATE TO dealkeep_server
    USING (removed_at IS NULL AND (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['broker'::text, 'seller'::text]) AS deals_acting_as))::uuid[])));
CREATE TRIGGER a_has_room_today BEFORE INSERT ON public.documents FOR EACH ROW EXECUTE FUNCTION app.limit_a_day('1000', 'uploaded_by', 'uploaded_at', 'documents');
CREATE TRIGGER a_keep_closed BEFORE INSERT OR DELETE OR UPDATE ON public.documents FOR EACH ROW EXECUTE FUNCTION app.keep_closed();
CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON public.documents FOR EACH ROW EXECUTE FUNCTION app.announce('documents', 'id');
CREATE TRIGGER finish_upload AFTER INSERT ON public.documents FOR EACH ROW EXECUTE FUNCTION app.finish_upload();
CREATE TRIGGER limit_sandbox AFTER INSERT ON public.documents FOR EACH STATEMENT EXECUTE FUNCTION app.limit_sandbox('500', 'documents', '100000000');
CREATE TRIGGER note_changed AFTER UPDATE ON public.documents REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_documents('document');
CREATE TRIGGER note_confidentiality BEFORE UPDATE OF confidentiality ON public.documents FOR EACH ROW WHEN (new.confidentiality <> old.confidentiality) EXECUTE FUNCTION app.note_confidentiality();
CREATE TRIGGER note_new AFTER INSERT ON public.documents REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('document');
CREATE TRIGGER note_removed AFTER DELETE ON public.documents REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('document');
CREATE TRIGGER queue_opened AFTER UPDATE OF confidentiality ON public.documents FOR EACH ROW WHEN (new.confidentiality <> old.confidentiality) EXECUTE FUNCTION app.queue_opened_document();
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON public.documents FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();
GRANT INSERT (deal_id, filename, category, confidentiality, size_bytes, media_type, sha256, storage_key), SELECT (id, deal_id, filename, category, confidentiality, size_bytes, media_type, sha256, uploaded_by, uploaded_at, confidentiality_before, confidentiality_changed_at), UPDATE (filename, category, confidentiality) ON public.documents TO dealkeep_server;

CREATE TABLE public.exclusivities (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    deal_id uuid NOT NULL,
    participant_id uuid NOT NULL,
    buyer_user_id uuid NOT NULL,
    granted_by uuid DEFAULT app.user_id(),
    granted_at timestamp with time zone DEFAULT app.now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    offer_id uuid,
    brokerage_id uuid NOT NULL,
    changed_at timestamp with time zone,
    CONSTRAINT exclusivities_pkey PRIMARY KEY (id),
    CONSTRAINT exclusivities_buyer_user_id_fkey FOREIGN KEY (buyer_user_id) REFERENCES public.users(id),
    CONSTRAINT exclusivities_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT exclusivities_granted_by_fkey FOREIGN KEY (granted_by) REFERENCES public.users(id),
    CONSTRAINT exclusivities_offer_id_participant_id_fkey FOREIGN KEY (offer_id, participant_id) REFERENCES public.offers(id, participant_id),
    CONSTRAINT exclusivities_participant_id_deal_id_fkey FOREIGN KEY (participant_id, deal_id) REFERENCES public.participants(id, deal_id),
    CONSTRAINT exclusivities_check CHECK (expires_at > granted_at)
);
CREATE INDEX exclusivities_by_buyer ON public.exclusivities USING btree (buyer_user_id);
CREATE INDEX exclusivities_by_granter ON public.exclusivities USING btree (granted_by) WHERE granted_by IS NOT NULL;
CREATE INDEX exclusivities_by_offer ON public.exclusivities USING btree (offer_id) WHERE offer_id IS NOT NULL;
CREATE INDEX exclusivities_by_participant ON public.exclusivities USING btree (participant_id);
CREATE INDEX exclusivities_in_force ON public.exclusivities USING btree (brokerage_id) WHERE ended_at IS NULL;
CREATE INDEX exclusivities_of_deal ON public.exclusivities USING btree (deal_id);
CREATE UNIQUE INDEX one_exclusivity_a_deal ON public.exclusivities USING btree (deal_id) WHERE ended_at IS NULL;
ALTER TABLE public.exclusivities ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.exclusivities FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.exclusivities TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY all_but_other_buyers_see_it ON public.exclusivities FOR SELECT TO dealkeep_server
    USING ((deal_id = ANY ((( SELECT app.deals_as(VARIADIC ARRAY['broker'::text, 'seller'::text, 'viewer'::text, 'deals:read'::text]) AS deals_as))::uuid[])) OR (participant_id = ANY ((( SELECT app.principals() AS principals))::uuid[])) OR ((( SELECT d.organization_id
   FROM public.deals d
  WHERE d.id = exclusivities.deal_id)) = ANY ((( SELECT app.brokerages_as(VARIADIC ARRAY['admin'::text]) AS brokerages_as))::uuid[])));
CREATE POLICY brokers_grant_it ON public.exclusivities FOR INSERT TO dealkeep_server
    WITH CHECK ((deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['broker'::text]) AS deals_acting_as))::uuid[])) AND ended_at IS NULL);
CREATE POLICY brokers_extend_or_release_it ON public.exclusivities FOR UPDATE TO dealkeep_server
    USING (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['broker'::text]) AS deals_acting_as))::uuid[]));
CREATE TRIGGER a_in_order BEFORE INSERT ON public.exclusivities FOR EACH ROW EXECUTE FUNCTION app.lock_deal_first();
CREATE TRIGGER a_keep_closed BEFORE INSERT ON public.exclusivities FOR EACH ROW EXECUTE FUNCTION app.keep_closed();
CREATE TRIGGER a_keep_closed_update BEFORE UPDATE ON public.exclusivities FOR EACH ROW EXECUTE FUNCTION app.keep_closed();
CREATE TRIGGER accept_offer AFTER INSERT ON public.exclusivities FOR EACH ROW WHEN (new.offer_id IS NOT NULL) EXECUTE FUNCTION app.accept_offer_with_exclusivity();
CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON public.exclusivities FOR EACH ROW EXECUTE FUNCTION app.announce('deal', 'id');
CREATE TRIGGER begin_it BEFORE INSERT ON public.exclusivities FOR EACH ROW EXECUTE FUNCTION app.begin_exclusivity();
CREATE TRIGGER change_deals_of_people AFTER INSERT OR DELETE OR UPDATE ON public.exclusivities FOR EACH ROW EXECUTE FUNCTION app.change_deals_of_people('lock');
CREATE TRIGGER check_offer BEFORE INSERT ON public.exclusivities FOR EACH ROW WHEN (new.offer_id IS NOT NULL) EXECUTE FUNCTION app.check_accepted_offer();
CREATE TRIGGER keep BEFORE UPDATE ON public.exclusivities FOR EACH ROW EXECUTE FUNCTION app.keep_exclusivity();
CREATE TRIGGER keep_reminders AFTER INSERT OR UPDATE OF expires_at, ended_at ON public.exclusivities FOR EACH ROW EXECUTE FUNCTION app.keep_reminders();
CREATE TRIGGER move_deal AFTER INSERT OR UPDATE OF ended_at ON public.exclusivities FOR EACH ROW EXECUTE FUNCTION app.move_deal_with_exclusivity();
CREATE TRIGGER note_change_of_end BEFORE UPDATE OF expires_at ON public.exclusivities FOR EACH ROW WHEN (new.expires_at IS DISTINCT FROM old.expires_at) EXECUTE FUNCTION app.note_change_of_end();
CREATE TRIGGER note_changed AFTER UPDATE ON public.exclusivities REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes_of_parts('deal', 'deal_id');
CREATE TRIGGER note_new AFTER INSERT ON public.exclusivities REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes_of_parts('deal', 'deal_id');
CREATE TRIGGER note_removed AFTER DELETE ON public.exclusivities REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes_of_parts('deal', 'deal_id');
CREATE TRIGGER queue_change AFTER UPDATE OF expires_at ON public.exclusivities FOR EACH ROW WHEN (new.expires_at IS DISTINCT FROM old.expires_at) EXECUTE FUNCTION app.queue_changed_exclusivity();
CREATE TRIGGER queue_grant AFTER INSERT ON public.exclusivities FOR EACH ROW EXECUTE FUNCTION app.queue_exclusivity();
CREATE TRIGGER queue_lapse AFTER UPDATE OF ended_at ON public.exclusivities FOR EACH ROW WHEN (old.ended_at IS NULL AND new.ended_at IS NOT NULL) EXECUTE FUNCTION app.queue_exclusivity();
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON public.exclusivities FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();
CREATE TRIGGER touch_stage AFTER INSERT OR UPDATE OF expires_at, ended_at ON public.exclusivities FOR EACH ROW EXECUTE FUNCTION app.touch_stage();
CREATE TRIGGER watch AFTER INSERT OR UPDATE OF expires_at, ended_at ON public.exclusivities FOR EACH ROW EXECUTE FUNCTION app.watch_exclusivity();
GRANT INSERT (deal_id, participant_id, expires_at, offer_id), SELECT, UPDATE (expires_at, ended_at) ON public.exclusivities TO dealkeep_server;

CREATE TABLE public.financing_sources (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    deal_id uuid NOT NULL,
    participant_id uuid NOT NULL,
    source_type text NOT NULL,
    source_name text NOT NULL,
    commitment_amount numeric(20,0) NOT NULL,
    currency text NOT NULL,
    commitment_status text DEFAULT 'identified'::text NOT NULL,
    created_by uuid DEFAULT app.user_id(),
    created_at timestamp with time zone DEFAULT app.now() NOT NULL,
    updated_at timestamp with time zone DEFAULT app.now() NOT NULL,
    brokerage_id uuid NOT NULL,
    CONSTRAINT financing_sources_pkey PRIMARY KEY (id),
    CONSTRAINT financing_sources_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id),
    CONSTRAINT financing_sources_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT financing_sources_participant_id_deal_id_fkey FOREIGN KEY (participant_id, deal_id) REFERENCES public.participants(id, deal_id),
    CONSTRAINT financing_sources_commitment_amount_check CHECK (commitment_amount >= 0::numeric AND commitment_amount <= '9007199254740991'::bigint::numeric),
    CONSTRAINT financing_sources_commitment_status_check CHECK (commitment_status = ANY (ARRAY['identified'::text, 'applied'::text, 'term_sheet'::text, 'committed'::text, 'funded'::text, 'expired'::text, 'withdrawn'::text])),
    CONSTRAINT financing_sources_currency_check CHECK (currency ~ '^[A-Z]{3}$'::text),
    CONSTRAINT financing_sources_source_name_check CHECK (length(source_name) >= 1 AND length(source_name) <= 256),
    CONSTRAINT financing_sources_source_type_check CHECK (source_type = ANY (ARRAY['sba_7a'::text, 'sba_504'::text, 'conventional_senior_debt'::text, 'mezzanine'::text, 'seller_note'::text, 'rollover_equity'::text, 'cash_buyer_equity'::text, 'equity_investor_check'::text, 'earnout_credit'::text, 'other'::text]))
);
CREATE INDEX financing_sources_by_author ON public.financing_sources USING btree (created_by);
CREATE INDEX financing_sources_by_deal ON public.financing_sources USING btree (deal_id, created_at DESC, id DESC);
ALTER TABLE public.financing_sources ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.financing_sources FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.financing_sources TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY deal_side_and_own_side ON public.financing_sources FOR SELECT TO dealkeep_server
    USING ((deal_id = ANY ((( SELECT app.deals_as(VARIADIC ARRAY['broker'::text, 'seller'::text, 'financing:read'::text]) AS deals_as))::uuid[])) OR (participant_id = ANY ((( SELECT app.principals() AS principals))::uuid[])));
CREATE POLICY those_in_diligence_add ON public.financing_sources FOR INSERT TO dealkeep_server
    WITH CHECK ((deal_id = ANY ((( SELECT app.diligence_deals() AS diligence_deals))::uuid[])) AND (participant_id = ANY ((( SELECT app.principals() AS principals))::uuid[])));
CREATE POLICY those_in_diligence_change ON public.financing_sources FOR UPDATE TO dealkeep_server
    USING ((deal_id = ANY ((( SELECT app.diligence_deals() AS diligence_deals))::uuid[])) AND ((deal_id = ANY ((( SELECT app.deals_as(VARIADIC ARRAY['broker'::text, 'seller'::text]) AS deals_as))::uuid[])) OR (participant_id = ANY ((( SELECT app.principals() AS principals))::uuid[]))));
CREATE TRIGGER a_has_room_today BEFORE INSERT ON public.financing_sources FOR EACH ROW EXECUTE FUNCTION app.limit_a_day('200', 'created_by', 'created_at', 'sources of financing');
CREATE TRIGGER a_keep_closed BEFORE INSERT OR DELETE OR UPDATE ON public.financing_sources FOR EACH ROW EXECUTE FUNCTION app.keep_closed();
CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON public.financing_sources FOR EACH ROW EXECUTE FUNCTION app.announce('financing', 'id');
CREATE TRIGGER check_move BEFORE UPDATE OF commitment_status ON public.financing_sources FOR EACH ROW EXECUTE FUNCTION app.check_move('financing_source', 'commitment_status');
CREATE TRIGGER note_changed AFTER UPDATE ON public.financing_sources REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('financing_source');
CREATE TRIGGER note_new AFTER INSERT ON public.financing_sources REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('financing_source');
CREATE TRIGGER note_removed AFTER DELETE ON public.financing_sources REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('financing_source');
CREATE TRIGGER set_side BEFORE INSERT ON public.financing_sources FOR EACH ROW EXECUTE FUNCTION app.set_side();
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON public.financing_sources FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();
CREATE TRIGGER set_the_currency BEFORE INSERT ON public.financing_sources FOR EACH ROW EXECUTE FUNCTION app.set_currency();
CREATE TRIGGER touch BEFORE UPDATE ON public.financing_sources FOR EACH ROW EXECUTE FUNCTION app.touch();
GRANT INSERT (deal_id, source_type, source_name, commitment_amount, commitment_status), SELECT, UPDATE (source_name, commitment_amount, commitment_status) ON public.financing_sources TO dealkeep_server;

CREATE TABLE public.finding_changes (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    finding_id uuid NOT NULL,
    from_status text,
    to_status text NOT NULL,
    notes text,
    changed_by uuid,
    changed_at timestamp with time zone DEFAULT app.now() NOT NULL,
    brokerage_id uuid NOT NULL,
    CONSTRAINT finding_changes_pkey PRIMARY KEY (id),
    CONSTRAINT finding_changes_changed_by_fkey FOREIGN KEY (changed_by) REFERENCES public.users(id),
    CONSTRAINT finding_changes_finding_id_fkey FOREIGN KEY (finding_id) REFERENCES public.findings(id)
);
CREATE INDEX finding_changes_by_author ON public.finding_changes USING btree (changed_by);
CREATE INDEX finding_changes_by_finding ON public.finding_changes USING btree (finding_id, changed_at, id);
ALTER TABLE public.finding_changes ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.finding_changes FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.finding_changes TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY with_the_finding ON public.finding_changes FOR SELECT TO dealkeep_server
    USING (( SELECT true
   FROM public.findings f
  WHERE f.id = finding_changes.finding_id));
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF finding_id, brokerage_id ON public.finding_changes FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_finding();
GRANT SELECT ON public.finding_changes TO dealkeep_server;

CREATE TABLE public.finding_comments (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    finding_id uuid NOT NULL,
    body text NOT NULL,
    created_by uuid DEFAULT app.user_id(),
    created_at timestamp with time zone DEFAULT app.now() NOT NULL,
    brokerage_id uuid NOT NULL,
    CONSTRAINT finding_comments_pkey PRIMARY KEY (id),
    CONSTRAINT finding_comments_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id),
    CONSTRAINT finding_comments_finding_id_fkey FOREIGN KEY (finding_id) REFERENCES public.findings(id),
    CONSTRAINT finding_comments_body_check CHECK (length(body) >= 1 AND length(body) <= 8000)
);
CREATE INDEX finding_comments_by_author ON public.finding_comments USING btree (created_by);
CREATE INDEX finding_comments_by_finding ON public.finding_comments USING btree (finding_id, created_at, id);
ALTER TABLE public.finding_comments ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.finding_comments FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.finding_comments TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY with_the_finding ON public.finding_comments FOR SELECT TO dealkeep_server
    USING (( SELECT true
   FROM public.findings f
  WHERE f.id = finding_comments.finding_id));
CREATE POLICY those_in_diligence_comment ON public.finding_comments FOR INSERT TO dealkeep_server
    WITH CHECK ((EXISTS ( SELECT
   FROM public.findings f
  WHERE f.id = finding_comments.finding_id AND (f.deal_id = ANY ((( SELECT app.diligence_deals() AS diligence_deals))::uuid[])))));
CREATE TRIGGER a_keep_closed BEFORE INSERT OR DELETE OR UPDATE ON public.finding_comments FOR EACH ROW EXECUTE FUNCTION app.keep_closed();
CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON public.finding_comments FOR EACH ROW EXECUTE FUNCTION app.announce('findings', 'finding_id');
CREATE TRIGGER limit_comments BEFORE INSERT ON public.finding_comments FOR EACH ROW EXECUTE FUNCTION app.limit_comments();
CREATE TRIGGER note_changed AFTER UPDATE ON public.finding_comments REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes_of_parts('finding', 'finding_id');
CREATE TRIGGER note_new AFTER INSERT ON public.finding_comments REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes_of_parts('finding', 'finding_id');
CREATE TRIGGER note_removed AFTER DELETE ON public.finding_comments REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes_of_parts('finding', 'finding_id');
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF finding_id, brokerage_id ON public.finding_comments FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_finding();
GRANT INSERT (finding_id, body), SELECT ON public.finding_comments TO dealkeep_server;

CREATE TABLE public.findings (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    deal_id uuid NOT NULL,
    participant_id uuid NOT NULL,
    category text NOT NULL,
    title text NOT NULL,
    description text,
    severity text NOT NULL,
    status text DEFAULT 'open'::text NOT NULL,
    status_notes text,
    owner_user_id uuid,
    created_by uuid DEFAULT app.user_id(),
    created_at timestamp with time zone DEFAULT app.now() NOT NULL,
    updated_at timestamp with time zone DEFAULT app.now() NOT NULL,
    brokerage_id uuid NOT NULL,
    CONSTRAINT findings_pkey PRIMARY KEY (id),
    CONSTRAINT findings_id_deal_id_key UNIQUE (id, deal_id),
    CONSTRAINT findings_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id),
    CONSTRAINT findings_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT findings_owner_user_id_fkey FOREIGN KEY (owner_user_id) REFERENCES public.users(id),
    CONSTRAINT findings_participant_id_deal_id_fkey FOREIGN KEY (participant_id, deal_id) REFERENCES public.participants(id, deal_id),
    CONSTRAINT findings_category_check CHECK (length(category) >= 1 AND length(category) <= 64),
    CONSTRAINT findings_description_check CHECK (length(description) <= 8000),
    CONSTRAINT findings_severity_check CHECK (severity = ANY (ARRAY['critical'::text, 'major'::text, 'minor'::text, 'informational'::text])),
    CONSTRAINT findings_status_check CHECK (status = ANY (ARRAY['open'::text, 'mitigated'::text, 'accepted'::text, 'resolved'::text])),
    CONSTRAINT findings_status_notes_check CHECK (length(status_notes) <= 8000),
    CONSTRAINT findings_title_check CHECK (length(title) >= 1 AND length(title) <= 120)
);
CREATE INDEX findings_by_author ON public.findings USING btree (created_by);
CREATE INDEX findings_by_deal ON public.findings USING btree (deal_id, created_at DESC, id DESC);
CREATE INDEX findings_by_owner ON public.findings USING btree (owner_user_id) WHERE owner_user_id IS NOT NULL;
CREATE INDEX findings_open_by_owner ON public.findings USING btree (owner_user_id) INCLUDE (deal_id, participant_id, created_at) WHERE status = 'open'::text;
ALTER TABLE public.findings ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.findings FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.findings TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY deal_side_and_own_side ON public.findings FOR SELECT TO dealkeep_server
    USING ((deal_id = ANY ((( SELECT app.deals_as(VARIADIC ARRAY['broker'::text, 'seller'::text, 'findings:read'::text]) AS deals_as))::uuid[])) OR (participant_id = ANY ((( SELECT app.principals() AS principals))::uuid[])));
CREATE POLICY those_in_diligence_add ON public.findings FOR INSERT TO dealkeep_server
    WITH CHECK ((deal_id = ANY ((( SELECT app.diligence_deals() AS diligence_deals))::uuid[])) AND (participant_id = ANY ((( SELECT app.principals() AS principals))::uuid[])));
CREATE POLICY those_in_diligence_change ON public.findings FOR UPDATE TO dealkeep_server
    USING ((deal_id = ANY ((( SELECT app.diligence_deals() AS diligence_deals))::uuid[])) AND ((deal_id = ANY ((( SELECT app.deals_as(VARIADIC ARRAY['broker'::text, 'seller'::text]) AS deals_as))::uuid[])) OR (participant_id = ANY ((( SELECT app.principals() AS principals))::uuid[]))));
CREATE TRIGGER a_has_room_today BEFORE INSERT ON public.findings FOR EACH ROW EXECUTE FUNCTION app.limit_a_day('200', 'created_by', 'created_at', 'findings');
CREATE TRIGGER a_has_room_today_update BEFORE UPDATE OF status, status_notes ON public.findings FOR EACH ROW WHEN (new.status IS DISTINCT FROM old.status OR new.status_notes IS DISTINCT FROM old.status_notes) EXECUTE FUNCTION app.limit_a_day('1000', 'changed_by', 'changed_at', 'changes of findings', 'vault.changes_of_findings');
CREATE TRIGGER a_keep_closed BEFORE INSERT OR DELETE OR UPDATE ON public.findings FOR EACH ROW EXECUTE FUNCTION app.keep_closed();
CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON public.findings FOR EACH ROW EXECUTE FUNCTION app.announce('findings', 'id');
CREATE TRIGGER check_owner BEFORE INSERT OR UPDATE OF owner_user_id ON public.findings FOR EACH ROW EXECUTE FUNCTION app.check_owner_takes_part();
CREATE TRIGGER note_changed AFTER UPDATE ON public.findings REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('finding');
CREATE TRIGGER note_new AFTER INSERT ON public.findings REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('finding');
CREATE TRIGGER note_removed AFTER DELETE ON public.findings REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('finding');
CREATE TRIGGER queue_assignment AFTER INSERT ON public.findings FOR EACH ROW WHEN (new.owner_user_id IS NOT NULL) EXECUTE FUNCTION app.queue_assignment('finding_assigned');
CREATE TRIGGER queue_new_assignment AFTER UPDATE OF owner_user_id ON public.findings FOR EACH ROW WHEN (new.owner_user_id IS DISTINCT FROM old.owner_user_id) EXECUTE FUNCTION app.queue_assignment('finding_assigned');
CREATE TRIGGER record_change AFTER INSERT OR UPDATE ON public.findings FOR EACH ROW EXECUTE FUNCTION app.record_finding_change();
CREATE TRIGGER set_side BEFORE INSERT ON public.findings FOR EACH ROW EXECUTE FUNCTION app.set_side();
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON public.findings FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();
CREATE TRIGGER touch BEFORE UPDATE ON public.findings FOR EACH ROW EXECUTE FUNCTION app.touch();
GRANT INSERT (deal_id, category, title, description, severity, owner_user_id), SELECT, UPDATE (category, title, description, severity, status, status_notes, owner_user_id) ON public.findings TO dealkeep_server;

CREATE TABLE public.members (
    brokerage_id uuid NOT NULL,
    user_id uuid NOT NULL,
    role text NOT NULL,
    status text DEFAULT 'active'::text NOT NULL,
    invited_name text,
    invited_email text,
    joined_at timestamp with time zone,
    invitation_id uuid DEFAULT app.uuid_v7() NOT NULL,
    person_id uuid GENERATED ALWAYS AS (
CASE
    WHEN joined_at IS NULL THEN invitation_id
    ELSE user_id
END) STORED,
    created_at timestamp with time zone DEFAULT app.now() NOT NULL,
    updated_at timestamp with time zone DEFAULT app.now() NOT NULL,
    left_name text,
    left_email text,
    CONSTRAINT members_pkey PRIMARY KEY (brokerage_id, user_id),
    CONSTRAINT members_invitation_id_key UNIQUE (invitation_id),
    CONSTRAINT members_brokerage_id_fkey FOREIGN KEY (brokerage_id) REFERENCES public.brokerages(id),
    CONSTRAINT members_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id),
    CONSTRAINT members_invited_email_check CHECK (length(invited_email) >= 3 AND length(invited_email) <= 254),
    CONSTRAINT members_invited_name_check CHECK (length(invited_name) >= 1 AND length(invited_name) <= 200),
    CONSTRAINT members_role_check CHECK (role = ANY (ARRAY['admin'::text, 'broker'::text, 'staff'::text])),
    CONSTRAINT members_status_check CHECK (status = ANY (ARRAY['invited'::text, 'active'::text, 'removed'::text]))
);
CREATE INDEX members_by_user ON public.members USING btree (user_id);
CREATE INDEX members_withdrawn ON public.members USING btree (updated_at) WHERE joined_at IS NULL AND status = 'removed'::text AND invited_email !~~ 'erased-%'::text;
ALTER TABLE public.members ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.members FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.members TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY members_see_each_other ON public.members FOR SELECT TO dealkeep_server
    USING (brokerage_id = ANY ((( SELECT app.brokerages_as(VARIADIC ARRAY['admin'::text, 'broker'::text, 'staff'::text]) AS brokerages_as))::uuid[]));
CREATE POLICY admins_change_members ON public.members FOR UPDATE TO dealkeep_server
    USING (brokerage_id = ANY ((( SELECT app.brokerages_as(VARIADIC ARRAY['admin'::text]) AS brokerages_as))::uuid[]));
CREATE TRIGGER check_acceptance BEFORE UPDATE OF status ON public.members FOR EACH ROW WHEN (old.status <> 'active'::text AND new.status = 'active'::text) EXECUTE FUNCTION app.check_acceptance();
CREATE TRIGGER end_parts AFTER UPDATE OF role, status ON public.members FOR EACH ROW WHEN (old.status = 'active'::text AND (new.status <> 'active'::text OR new.role <> old.role)) EXECUTE FUNCTION app.end_parts_of_member();
CREATE TRIGGER guard_admins BEFORE INSERT ON public.members FOR EACH ROW WHEN (new.role = 'admin'::text) EXECUTE FUNCTION app.guard_recent_sign_in();
CREATE TRIGGER guard_admins_update BEFORE UPDATE OF role, status ON public.members FOR EACH ROW WHEN (new.role = 'admin'::text AND (new.role <> old.role OR new.status = 'invited'::text)) EXECUTE FUNCTION app.guard_recent_sign_in();
CREATE TRIGGER keep_an_admin AFTER UPDATE OF role, status ON public.members FOR EACH ROW WHEN (old.role = 'admin'::text AND old.status = 'active'::text) EXECUTE FUNCTION app.keep_an_admin();
CREATE TRIGGER note_joining BEFORE INSERT OR UPDATE OF status ON public.members FOR EACH ROW EXECUTE FUNCTION app.note_joining();
CREATE TRIGGER tell_joined AFTER UPDATE OF status ON public.members FOR EACH ROW WHEN (new.status = 'active'::text AND old.status <> 'active'::text) EXECUTE FUNCTION app.tell_who_joins();
CREATE TRIGGER tell_new AFTER INSERT ON public.members FOR EACH ROW WHEN (new.status = 'active'::text) EXECUTE FUNCTION app.tell_who_joins();
CREATE TRIGGER touch BEFORE UPDATE ON public.members FOR EACH ROW EXECUTE FUNCTION app.touch();
CREATE TRIGGER zz_keep_in_sandbox BEFORE INSERT OR UPDATE OF user_id, brokerage_id ON public.members FOR EACH ROW EXECUTE FUNCTION app.keep_in_sandbox();
GRANT SELECT, UPDATE (role, status) ON public.members TO dealkeep_server;

CREATE TABLE public.ndas (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    deal_id uuid NOT NULL,
    participant_id uuid NOT NULL,
    status text DEFAULT 'sent'::text NOT NULL,
    terms text NOT NULL,
    sent_by uuid DEFAULT app.user_id(),
    sent_at timestamp with time zone DEFAULT app.now() NOT NULL,
    signed_at timestamp with time zone,
    signed_name text,
    signed_address inet,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    brokerage_id uuid NOT NULL,
    replaced_at timestamp with time zone,
    CONSTRAINT ndas_pkey PRIMARY KEY (id),
    CONSTRAINT ndas_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT ndas_participant_id_deal_id_fkey FOREIGN KEY (participant_id, deal_id) REFERENCES public.participants(id, deal_id),
    CONSTRAINT ndas_sent_by_fkey FOREIGN KEY (sent_by) REFERENCES public.users(id),
    CONSTRAINT ndas_check CHECK (status <> 'active'::text OR signed_at IS NOT NULL AND signed_name IS NOT NULL),
    CONSTRAINT ndas_signed_name_check CHECK (length(signed_name) >= 1 AND length(signed_name) <= 200),
    CONSTRAINT ndas_status_check CHECK (status = ANY (ARRAY['sent'::text, 'active'::text, 'expired'::text, 'revoked'::text])),
    CONSTRAINT ndas_terms_check CHECK (length(terms) >= 1 AND length(terms) <= 40000)
);
CREATE INDEX ndas_by_deal ON public.ndas USING btree (deal_id, sent_at DESC);
CREATE INDEX ndas_by_participant ON public.ndas USING btree (participant_id);
CREATE INDEX ndas_by_sender ON public.ndas USING btree (sent_by) WHERE sent_by IS NOT NULL;
CREATE INDEX ndas_by_standing ON public.ndas USING btree (deal_id, (
CASE status
    WHEN 'sent'::text THEN 2
    WHEN 'active'::text THEN 1
    ELSE 0
END) DESC, sent_at DESC, id DESC);
CREATE INDEX ndas_ending ON public.ndas USING btree (deal_id) INCLUDE (expires_at, participant_id, signed_at, id) WHERE status = 'active'::text AND expires_at IS NOT NULL;
CREATE INDEX ndas_running_out ON public.ndas USING btree (expires_at) WHERE status = ANY (ARRAY['sent'::text, 'active'::text]);
CREATE INDEX ndas_sent ON public.ndas USING btree (deal_id) INCLUDE (participant_id, sent_at, expires_at) WHERE status = 'sent'::text;
CREATE INDEX ndas_sent_to ON public.ndas USING btree (participant_id) INCLUDE (deal_id, sent_at, expires_at) WHERE status = 'sent'::text;
ALTER TABLE public.ndas ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.ndas FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.ndas TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY both_sides_see_it ON public.ndas FOR SELECT TO dealkeep_server
    USING ((deal_id = ANY ((( SELECT app.deals_as(VARIADIC ARRAY['broker'::text, 'seller'::text, 'ndas:read'::text]) AS deals_as))::uuid[])) OR (participant_id = ANY ((( SELECT app.principals() AS principals))::uuid[])));
CREATE POLICY brokers_send_it ON public.ndas FOR INSERT TO dealkeep_server
    WITH CHECK ((deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['broker'::text]) AS deals_acting_as))::uuid[])) AND status = 'sent'::text);
CREATE POLICY brokers_revoke_it ON public.ndas FOR UPDATE TO dealkeep_server
    USING (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['broker'::text]) AS deals_acting_as))::uuid[]));
CREATE TRIGGER a_in_order BEFORE INSERT ON public.ndas FOR EACH ROW EXECUTE FUNCTION app.lock_part_first();
CREATE TRIGGER a_in_order_update BEFORE UPDATE OF status ON public.ndas FOR EACH ROW EXECUTE FUNCTION app.lock_deal_of_change();
CREATE TRIGGER a_keep_closed BEFORE INSERT ON public.ndas FOR EACH ROW EXECUTE FUNCTION app.keep_closed();
CREATE TRIGGER a_keep_closed_update BEFORE UPDATE ON public.ndas FOR EACH ROW WHEN (new.status <> ALL (ARRAY['revoked'::text, 'expired'::text])) EXECUTE FUNCTION app.keep_closed();
CREATE TRIGGER add_ndas_of_people AFTER INSERT ON public.ndas FOR EACH ROW WHEN (new.status = 'active'::text) EXECUTE FUNCTION app.change_ndas_of_people();
CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON public.ndas FOR EACH ROW EXECUTE FUNCTION app.announce('ndas', 'id');
CREATE TRIGGER change_ndas_of_people AFTER UPDATE ON public.ndas FOR EACH ROW WHEN (old.* IS DISTINCT FROM new.* AND (old.status = 'active'::text OR new.status = 'active'::text)) EXECUTE FUNCTION app.change_ndas_of_people();
CREATE TRIGGER check_move BEFORE UPDATE OF status ON public.ndas FOR EACH ROW EXECUTE FUNCTION app.check_move('nda', 'status');
CREATE TRIGGER end_places AFTER UPDATE OF status ON public.ndas FOR EACH ROW WHEN (old.status <> new.status AND (new.status = ANY (ARRAY['revoked'::text, 'expired'::text]))) EXECUTE FUNCTION app.end_places_without_nda();
CREATE TRIGGER end_places_before AFTER INSERT ON public.ndas FOR EACH ROW WHEN (new.status = 'sent'::text) EXECUTE FUNCTION app.end_places_without_nda();
CREATE TRIGGER keep BEFORE UPDATE ON public.ndas FOR EACH ROW EXECUTE FUNCTION app.keep_nda();
CREATE TRIGGER keep_reminders AFTER INSERT OR UPDATE OF status, expires_at ON public.ndas FOR EACH ROW EXECUTE FUNCTION app.keep_reminders();
CREATE TRIGGER note_changed AFTER UPDATE ON public.ndas REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('nda');
CREATE TRIGGER note_new AFTER INSERT ON public.ndas REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('nda');
CREATE TRIGGER note_removed AFTER DELETE ON public.ndas REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('nda');
CREATE TRIGGER remove_ndas_of_people AFTER DELETE ON public.ndas FOR EACH ROW WHEN (old.status = 'active'::text) EXECUTE FUNCTION app.change_ndas_of_people();
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON public.ndas FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();
CREATE TRIGGER take_it BEFORE INSERT ON public.ndas FOR EACH ROW EXECUTE FUNCTION app.take_nda();
GRANT INSERT (deal_id, participant_id, terms, expires_at), SELECT, UPDATE (status) ON public.ndas TO dealkeep_server;

CREATE TABLE public.normalizations (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    deal_id uuid NOT NULL,
    period_label text NOT NULL,
    adjustment_category text NOT NULL,
    adjustment_amount numeric NOT NULL,
    rationale text,
    created_by uuid DEFAULT app.user_id(),
    created_at timestamp with time zone DEFAULT app.now() NOT NULL,
    brokerage_id uuid NOT NULL,
    currency text,
    CONSTRAINT normalizations_pkey PRIMARY KEY (id),
    CONSTRAINT normalizations_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id),
    CONSTRAINT normalizations_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT normalizations_adjustment_amount_check CHECK (abs(adjustment_amount) < '10000000000000000000000000000000000000000'::numeric AND scale(adjustment_amount) < 40),
    CONSTRAINT normalizations_adjustment_category_check CHECK (adjustment_category = ANY (ARRAY['owner_comp'::text, 'related_party'::text, 'one_time'::text, 'other'::text])),
    CONSTRAINT normalizations_period_label_check CHECK (length(period_label) >= 1 AND length(period_label) <= 64),
    CONSTRAINT normalizations_rationale_check CHECK (length(rationale) <= 2000)
);
CREATE INDEX normalizations_by_author ON public.normalizations USING btree (created_by);
CREATE INDEX normalizations_by_deal ON public.normalizations USING btree (deal_id, created_at DESC, id DESC);
ALTER TABLE public.normalizations ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.normalizations FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.normalizations TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY workspace_reads ON public.normalizations FOR SELECT TO dealkeep_server
    USING (deal_id = ANY ((( SELECT app.qoe_deals(false) AS qoe_deals))::uuid[]));
CREATE POLICY editors_add ON public.normalizations FOR INSERT TO dealkeep_server
    WITH CHECK (deal_id = ANY ((( SELECT app.qoe_deals(true) AS qoe_deals))::uuid[]));
CREATE POLICY editors_take_out ON public.normalizations FOR DELETE TO dealkeep_server
    USING (deal_id = ANY ((( SELECT app.qoe_deals(true) AS qoe_deals))::uuid[]));
CREATE TRIGGER a_has_room_today BEFORE INSERT ON public.normalizations FOR EACH ROW EXECUTE FUNCTION app.limit_a_day('200', 'created_by', 'created_at', 'normalizations');
CREATE TRIGGER a_keep_closed BEFORE INSERT OR DELETE OR UPDATE ON public.normalizations FOR EACH ROW EXECUTE FUNCTION app.keep_closed();
CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON public.normalizations FOR EACH ROW EXECUTE FUNCTION app.announce('qoe', 'id');
CREATE TRIGGER note_changed AFTER UPDATE ON public.normalizations REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('normalization');
CREATE TRIGGER note_new AFTER INSERT ON public.normalizations REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('normalization');
CREATE TRIGGER note_removed AFTER DELETE ON public.normalizations REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('normalization');
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON public.normalizations FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();
CREATE TRIGGER set_the_currency BEFORE INSERT ON public.normalizations FOR EACH ROW EXECUTE FUNCTION app.set_currency_of_books();
GRANT DELETE, INSERT (deal_id, period_label, adjustment_category, adjustment_amount, rationale), SELECT ON public.normalizations TO dealkeep_server;

CREATE TABLE public.offer_decisions (
    offer_id uuid NOT NULL,
    deal_id uuid NOT NULL,
    participant_id uuid NOT NULL,
    decision text NOT NULL,
    decided_by uuid DEFAULT app.user_id(),
    decided_at timestamp with time zone DEFAULT app.now() NOT NULL,
    brokerage_id uuid NOT NULL,
    CONSTRAINT offer_decisions_pkey PRIMARY KEY (offer_id),
    CONSTRAINT offer_decisions_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT offer_decisions_decided_by_fkey FOREIGN KEY (decided_by) REFERENCES public.users(id),
    CONSTRAINT offer_decisions_offer_id_participant_id_fkey FOREIGN KEY (offer_id, participant_id) REFERENCES public.offers(id, participant_id),
    CONSTRAINT offer_decisions_participant_id_deal_id_fkey FOREIGN KEY (participant_id, deal_id) REFERENCES public.participants(id, deal_id),
    CONSTRAINT offer_decisions_decision_check CHECK (decision = ANY (ARRAY['accepted'::text, 'declined'::text]))
);
CREATE INDEX offer_decisions_by_author ON public.offer_decisions USING btree (decided_by);
CREATE INDEX offer_decisions_by_deal ON public.offer_decisions USING btree (deal_id);
CREATE INDEX offer_decisions_by_participant ON public.offer_decisions USING btree (participant_id, decided_at DESC);
ALTER TABLE public.offer_decisions ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.offer_decisions FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.offer_decisions TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY deal_side_and_own_side ON public.offer_decisions FOR SELECT TO dealkeep_server
    USING ((deal_id = ANY ((( SELECT app.deals_as(VARIADIC ARRAY['broker'::text, 'seller'::text, 'offers:read'::text]) AS deals_as))::uuid[])) OR (participant_id = ANY ((( SELECT app.principals() AS principals))::uuid[])));
CREATE TRIGGER a_keep_closed BEFORE INSERT OR DELETE OR UPDATE ON public.offer_decisions FOR EACH ROW EXECUTE FUNCTION app.keep_closed();
CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON public.offer_decisions FOR EACH ROW EXECUTE FUNCTION app.announce('offers', 'offer_id');
CREATE TRIGGER note_changed AFTER UPDATE ON public.offer_decisions REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes_of_parts('offer', 'offer_id');
CREATE TRIGGER note_new AFTER INSERT ON public.offer_decisions REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes_of_parts('offer', 'offer_id');
CREATE TRIGGER note_removed AFTER DELETE ON public.offer_decisions REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes_of_parts('offer', 'offer_id');
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON public.offer_decisions FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();
GRANT SELECT ON public.offer_decisions TO dealkeep_server;

CREATE TABLE public.offers (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    deal_id uuid NOT NULL,
    participant_id uuid NOT NULL,
    buyer_user_id uuid NOT NULL,
    revision_number integer NOT NULL,
    is_current boolean DEFAULT true NOT NULL,
    submitted_at timestamp with time zone DEFAULT app.now() NOT NULL,
    payload jsonb NOT NULL,
    brokerage_id uuid NOT NULL,
    CONSTRAINT offers_pkey PRIMARY KEY (id),
    CONSTRAINT offers_deal_id_buyer_user_id_revision_number_key UNIQUE (deal_id, buyer_user_id, revision_number),
    CONSTRAINT offers_id_participant_id_key UNIQUE (id, participant_id),
    CONSTRAINT offers_buyer_user_id_fkey FOREIGN KEY (buyer_user_id) REFERENCES public.users(id),
    CONSTRAINT offers_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT offers_participant_id_deal_id_fkey FOREIGN KEY (participant_id, deal_id) REFERENCES public.participants(id, deal_id),
    CONSTRAINT offers_payload_check CHECK (app.is_offer_payload(payload)),
    CONSTRAINT offers_payload_check1 CHECK (app.payload_size(payload) <= 32768),
    CONSTRAINT offers_revision_number_check CHECK (revision_number >= 1)
);
CREATE INDEX offers_by_buyer ON public.offers USING btree (buyer_user_id);
CREATE INDEX offers_by_deal ON public.offers USING btree (deal_id, submitted_at DESC, id DESC);
CREATE INDEX offers_current ON public.offers USING btree (deal_id) INCLUDE (id, participant_id, submitted_at) WHERE is_current;
CREATE INDEX offers_ending ON public.offers USING btree (deal_id) WHERE is_current AND (payload ->> 'expires_at'::text) IS NOT NULL;
CREATE UNIQUE INDEX one_current_offer_a_buyer ON public.offers USING btree (deal_id, buyer_user_id) WHERE is_current;
ALTER TABLE public.offers ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.offers FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.offers TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY deal_side_and_own_side ON public.offers FOR SELECT TO dealkeep_server
    USING ((deal_id = ANY ((( SELECT app.deals_as(VARIADIC ARRAY['broker'::text, 'seller'::text, 'offers:read'::text]) AS deals_as))::uuid[])) OR (participant_id = ANY ((( SELECT app.principals() AS principals))::uuid[])));
CREATE POLICY buyers_submit ON public.offers FOR INSERT TO dealkeep_server
    WITH CHECK (buyer_user_id = (( SELECT app.user_id() AS user_id)) AND (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['buyer'::text]) AS deals_acting_as))::uuid[])));
CREATE TRIGGER a_in_order BEFORE INSERT ON public.offers FOR EACH ROW EXECUTE FUNCTION app.lock_part_first();
CREATE TRIGGER a_keep_closed BEFORE INSERT OR DELETE OR UPDATE ON public.offers FOR EACH ROW EXECUTE FUNCTION app.keep_closed();
CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON public.offers FOR EACH ROW EXECUTE FUNCTION app.announce('offers', 'id');
CREATE TRIGGER keep_reminders AFTER INSERT OR UPDATE OF is_current ON public.offers FOR EACH ROW EXECUTE FUNCTION app.keep_reminders();
CREATE TRIGGER note_changed AFTER UPDATE ON public.offers REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('offer');
CREATE TRIGGER note_new AFTER INSERT ON public.offers REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('offer');
CREATE TRIGGER note_removed AFTER DELETE ON public.offers REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('offer');
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON public.offers FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();
CREATE TRIGGER take_offer BEFORE INSERT ON public.offers FOR EACH ROW EXECUTE FUNCTION app.take_offer();
GRANT INSERT (deal_id, payload), SELECT ON public.offers TO dealkeep_server;

CREATE TABLE public.participants (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    deal_id uuid NOT NULL,
    user_id uuid NOT NULL,
    role text NOT NULL,
    status text DEFAULT 'invited'::text NOT NULL,
    advises uuid,
    invited_name text,
    invited_email text,
    joined_at timestamp with time zone,
    person_id uuid GENERATED ALWAYS AS (
CASE
    WHEN joined_at IS NULL THEN id
    ELSE user_id
END) STORED,
    created_at timestamp with time zone DEFAULT app.now() NOT NULL,
    updated_at timestamp with time zone DEFAULT app.now() NOT NULL,
    brokerage_id uuid NOT NULL,
    left_name text,
    left_email text,
    CONSTRAINT participants_pkey PRIMARY KEY (id),
    CONSTRAINT participants_deal_id_user_id_key UNIQUE (deal_id, user_id),
    CONSTRAINT participants_id_deal_id_key UNIQUE (id, deal_id),
    CONSTRAINT participants_advises_deal_id_fkey FOREIGN KEY (advises, deal_id) REFERENCES public.participants(id, deal_id),
    CONSTRAINT participants_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT participants_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id),
    CONSTRAINT participants_check CHECK ((role = 'advisor'::text) = (advises IS NOT NULL)),
    CONSTRAINT participants_invited_email_check CHECK (length(invited_email) >= 3 AND length(invited_email) <= 254),
    CONSTRAINT participants_invited_name_check CHECK (length(invited_name) >= 1 AND length(invited_name) <= 200),
    CONSTRAINT participants_role_check CHECK (role = ANY (ARRAY['broker'::text, 'seller'::text, 'buyer'::text, 'advisor'::text, 'viewer'::text])),
    CONSTRAINT participants_status_check CHECK (status = ANY (ARRAY['invited'::text, 'active'::text, 'removed'::text]))
);
CREATE INDEX participants_by_advised ON public.participants USING btree (advises) WHERE advises IS NOT NULL;
CREATE INDEX participants_by_user ON public.participants USING btree (user_id, deal_id) INCLUDE (id, role, status, advises);
CREATE INDEX participants_invited ON public.participants USING btree (user_id) WHERE status = 'invited'::text;
CREATE INDEX participants_latest ON public.participants USING btree (user_id, id DESC) INCLUDE (deal_id, role, advises) WHERE status = 'active'::text AND role <> 'broker'::text;
CREATE INDEX participants_not_active ON public.participants USING btree (deal_id) INCLUDE (id, status) WHERE status <> 'active'::text;
CREATE INDEX participants_withdrawn ON public.participants USING btree (updated_at) WHERE joined_at IS NULL AND status = 'removed'::text AND invited_email !~~ 'erased-%'::text;
ALTER TABLE public.participants ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.participants FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.participants TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY who_sees_whom ON public.participants FOR SELECT TO dealkeep_server
    USING ((deal_id = ANY ((( SELECT app.deals_as(VARIADIC ARRAY['broker'::text, 'seller'::text, 'viewer'::text, 'participants:read'::text]) AS deals_as))::uuid[])) OR (COALESCE(advises, id) = ANY ((( SELECT app.principals() AS principals))::uuid[])) OR status = 'active'::text AND role = 'broker'::text AND (deal_id = ANY ((( SELECT app.deals_as(VARIADIC ARRAY['buyer'::text]) AS deals_as))::uuid[])) OR status = 'active'::text AND role = 'seller'::text AND (deal_id = ANY ((( SELECT app.deals_with_known_seller() AS deals_with_known_seller))::uuid[])) OR ((( SELECT d.organization_id
   FROM public.deals d
  WHERE d.id = participants.deal_id)) = ANY ((( SELECT app.brokerages_as(VARIADIC ARRAY['admin'::text]) AS brokerages_as))::uuid[])));
CREATE POLICY brokers_and_admins_change_them ON public.participants FOR UPDATE TO dealkeep_server
    USING ((deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['broker'::text]) AS deals_acting_as))::uuid[])) OR ((( SELECT d.organization_id
   FROM public.deals d
  WHERE d.id = participants.deal_id)) = ANY ((( SELECT app.brokerages_as(VARIADIC ARRAY['admin'::text]) AS brokerages_as))::uuid[])));
CREATE POLICY people_leave ON public.participants FOR UPDATE TO dealkeep_server
    USING (user_id = (( SELECT app.user_id() AS user_id)) AND (( SELECT app.client_id() AS client_id)) IS NULL AND (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['broker'::text, 'seller'::text, 'buyer'::text, 'advisor'::text, 'viewer'::text]) AS deals_acting_as))::uuid[])))
    WITH CHECK (user_id = (( SELECT app.user_id() AS user_id)) AND status = 'removed'::text);
CREATE TRIGGER a_has_room BEFORE INSERT ON public.participants FOR EACH ROW EXECUTE FUNCTION app.limit_people();
CREATE TRIGGER a_in_order BEFORE UPDATE OF role, status, advises ON public.participants FOR EACH ROW EXECUTE FUNCTION app.lock_deal_of_change();
CREATE TRIGGER a_keep_closed BEFORE INSERT ON public.participants FOR EACH ROW WHEN (new.role <> 'broker'::text) EXECUTE FUNCTION app.keep_closed();
CREATE TRIGGER a_keep_closed_update BEFORE UPDATE ON public.participants FOR EACH ROW WHEN (new.role <> 'broker'::text AND new.status = 'invited'::text) EXECUTE FUNCTION app.keep_closed();
CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON public.participants FOR EACH ROW EXECUTE FUNCTION app.announce('participants', 'id');
CREATE TRIGGER announce_invitation AFTER INSERT ON public.participants FOR EACH ROW WHEN (new.status = 'invited'::text) EXECUTE FUNCTION app.announce_own_place();
CREATE TRIGGER announce_own_place AFTER UPDATE OF status ON public.participants FOR EACH ROW WHEN (old.status <> new.status AND (new.status = ANY (ARRAY['invited'::text, 'removed'::text]))) EXECUTE FUNCTION app.announce_own_place();
CREATE TRIGGER check_acceptance BEFORE UPDATE OF status ON public.participants FOR EACH ROW WHEN (old.status = 'invited'::text AND new.status = 'active'::text) EXECUTE FUNCTION app.check_acceptance();
CREATE TRIGGER check_advised BEFORE INSERT OR UPDATE OF advises ON public.participants FOR EACH ROW WHEN (new.advises IS NOT NULL) EXECUTE FUNCTION app.check_advised();
CREATE TRIGGER check_move BEFORE UPDATE OF status ON public.participants FOR EACH ROW EXECUTE FUNCTION app.check_move('participant', 'status');
CREATE TRIGGER forget_visits AFTER UPDATE OF status ON public.participants FOR EACH ROW WHEN (new.status = 'removed'::text) EXECUTE FUNCTION app.forget_visits();
CREATE TRIGGER keep_answers_of_people AFTER INSERT OR DELETE OR UPDATE OF user_id, deal_id, status, advises ON public.participants FOR EACH ROW EXECUTE FUNCTION app.keep_answers_of_people();
CREATE TRIGGER keep_deals_of_people AFTER INSERT OR DELETE OR UPDATE OF user_id, deal_id, role, status, advises ON public.participants FOR EACH ROW EXECUTE FUNCTION app.keep_deals_of_people();
CREATE TRIGGER keep_ndas_of_people AFTER INSERT OR DELETE OR UPDATE OF user_id, deal_id, status, advises ON public.participants FOR EACH ROW EXECUTE FUNCTION app.keep_ndas_of_people();
CREATE TRIGGER leave_workspace AFTER UPDATE OF status ON public.participants FOR EACH ROW WHEN (new.status = 'removed'::text) EXECUTE FUNCTION app.leave_workspace();
CREATE TRIGGER limit_sandbox AFTER INSERT ON public.participants FOR EACH STATEMENT EXECUTE FUNCTION app.limit_sandbox('1000', 'people on deals');
CREATE TRIGGER narrow_again AFTER INSERT OR UPDATE ON public.participants FOR EACH STATEMENT EXECUTE FUNCTION app.narrow_again();
CREATE TRIGGER note_changed AFTER UPDATE ON public.participants REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('participant');
CREATE TRIGGER note_joining BEFORE INSERT OR UPDATE OF status ON public.participants FOR EACH ROW EXECUTE FUNCTION app.note_joining();
CREATE TRIGGER note_new AFTER INSERT ON public.participants REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('participant');
CREATE TRIGGER note_removed AFTER DELETE ON public.participants REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('participant');
CREATE TRIGGER note_role AFTER UPDATE OF role, status, advises ON public.participants FOR EACH ROW WHEN (old.role <> new.role OR old.advises IS DISTINCT FROM new.advises OR old.status = 'removed'::text AND new.status <> 'removed'::text) EXECUTE FUNCTION app.note_role();
CREATE TRIGGER opt_out AFTER UPDATE OF status ON public.participants FOR EACH ROW WHEN (new.status = 'removed'::text AND old.status <> 'removed'::text) EXECUTE FUNCTION app.opt_out_with_part();
CREATE TRIGGER remove_advisors AFTER UPDATE OF role, status ON public.participants FOR EACH ROW WHEN (old.role <> new.role OR new.status = 'removed'::text AND old.status <> 'removed'::text) EXECUTE FUNCTION app.remove_advisors();
CREATE TRIGGER return_questions AFTER UPDATE OF role, status ON public.participants FOR EACH ROW WHEN (old.role = 'seller'::text AND old.status = 'active'::text AND (new.role <> 'seller'::text OR new.status <> 'active'::text)) EXECUTE FUNCTION app.return_questions();
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON public.participants FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();
CREATE TRIGGER tell_joined AFTER UPDATE OF status ON public.participants FOR EACH ROW WHEN (new.status = 'active'::text AND old.status <> 'active'::text) EXECUTE FUNCTION app.tell_who_joins();
CREATE TRIGGER tell_new AFTER INSERT ON public.participants FOR EACH ROW WHEN (new.status = 'active'::text) EXECUTE FUNCTION app.tell_who_joins();
CREATE TRIGGER touch BEFORE UPDATE ON public.participants FOR EACH ROW EXECUTE FUNCTION app.touch();
CREATE TRIGGER zz_keep_in_sandbox BEFORE INSERT OR UPDATE OF user_id ON public.participants FOR EACH ROW EXECUTE FUNCTION app.keep_in_sandbox();
GRANT SELECT, UPDATE (status) ON public.participants TO dealkeep_server;

CREATE TABLE public.pl_periods (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    deal_id uuid NOT NULL,
    snapshot_id uuid NOT NULL,
    period_label text NOT NULL,
    period_start_date date NOT NULL,
    period_end_date date NOT NULL,
    currency text NOT NULL,
    revenue numeric(20,4) NOT NULL,
    cost_of_goods_sold numeric(20,4),
    gross_profit numeric(20,4),
    operating_expenses numeric(20,4),
    owner_compensation numeric(20,4),
    depreciation_amortization numeric(20,4),
    interest_expense numeric(20,4),
    tax_expense numeric(20,4),
    net_income numeric(20,4),
    ebitda numeric(20,4),
    brokerage_id uuid NOT NULL,
    CONSTRAINT pl_periods_pkey PRIMARY KEY (id),
    CONSTRAINT pl_periods_snapshot_id_period_start_date_period_end_date_key UNIQUE (snapshot_id, period_start_date, period_end_date),
    CONSTRAINT pl_periods_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT pl_periods_snapshot_id_deal_id_fkey FOREIGN KEY (snapshot_id, deal_id) REFERENCES public.accounting_snapshots(id, deal_id),
    CONSTRAINT pl_periods_check CHECK (period_end_date >= period_start_date),
    CONSTRAINT pl_periods_currency_check CHECK (currency ~ '^[A-Z]{3}$'::text),
    CONSTRAINT pl_periods_period_label_check CHECK (length(period_label) >= 1 AND length(period_label) <= 64)
);
CREATE INDEX pl_periods_by_deal ON public.pl_periods USING btree (deal_id, period_start_date DESC, id DESC);
ALTER TABLE public.pl_periods ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.pl_periods FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.pl_periods TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY workspace_reads ON public.pl_periods FOR SELECT TO dealkeep_server
    USING (deal_id = ANY ((( SELECT app.qoe_deals(false) AS qoe_deals))::uuid[]));
CREATE POLICY editors_add ON public.pl_periods FOR INSERT TO dealkeep_server
    WITH CHECK ((deal_id = ANY ((( SELECT app.qoe_deals(true) AS qoe_deals))::uuid[])) OR (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['qoe:write'::text]) AS deals_acting_as))::uuid[])));
CREATE POLICY not_after_the_end ON public.pl_periods AS RESTRICTIVE FOR INSERT TO dealkeep_server
    WITH CHECK (NOT app.upload_has_ended(snapshot_id));
CREATE TRIGGER a_keep_closed_changed AFTER UPDATE ON public.pl_periods REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.keep_closed_rows();
CREATE TRIGGER a_keep_closed_new AFTER INSERT ON public.pl_periods REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.keep_closed_rows();
CREATE TRIGGER a_keep_closed_removed AFTER DELETE ON public.pl_periods REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.keep_closed_rows();
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON public.pl_periods FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();
GRANT INSERT (deal_id, snapshot_id, period_label, period_start_date, period_end_date, currency, revenue, cost_of_goods_sold, gross_profit, operating_expenses, owner_compensation, depreciation_amortization, interest_expense, tax_expense, net_income, ebitda), SELECT ON public.pl_periods TO dealkeep_server;

CREATE TABLE public.production_documents (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    deal_id uuid NOT NULL,
    filename text NOT NULL,
    category text NOT NULL,
    confidentiality text NOT NULL,
    size_bytes bigint NOT NULL,
    media_type text NOT NULL,
    sha256 bytea,
    storage_key text NOT NULL,
    uploaded_by uuid DEFAULT app.user_id(),
    uploaded_at timestamp with time zone DEFAULT app.now() NOT NULL,
    removed_at timestamp with time zone,
    body_cleared_at timestamp with time zone,
    diligence_request text NOT NULL,
    brokerage_id uuid NOT NULL,
    confidentiality_before text,
    confidentiality_changed_at timestamp with time zone,
    CONSTRAINT production_documents_pkey PRIMARY KEY (id),
    CONSTRAINT production_documents_storage_key_key UNIQUE (storage_key),
    CONSTRAINT production_documents_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT production_documents_uploaded_by_fkey FOREIGN KEY (uploaded_by) REFERENCES public.users(id),
    CONSTRAINT documents_category_check CHECK (length(category) >= 1 AND length(category) <= 64),
    CONSTRAINT documents_confidentiality_check CHECK (confidentiality = ANY (ARRAY['public'::text, 'nda_gated'::text, 'selected_buyer_only'::text])),
    CONSTRAINT documents_filename_check CHECK (length(filename) >= 1 AND length(filename) <= 255 AND filename !~ '[/\\[:cntrl:]]'::text),
    CONSTRAINT documents_media_type_check CHECK (length(media_type) >= 1 AND length(media_type) <= 255),
    CONSTRAINT documents_sha256_check CHECK (length(sha256) = 32),
    CONSTRAINT documents_size_bytes_check CHECK (size_bytes >= 0),
    CONSTRAINT production_documents_diligence_request_check CHECK (length(diligence_request) >= 1 AND length(diligence_request) <= 500)
);
CREATE INDEX production_documents_by_author ON public.production_documents USING btree (uploaded_by);
CREATE INDEX production_documents_by_confidentiality ON public.production_documents USING btree (deal_id, confidentiality COLLATE "C", uploaded_at DESC, id DESC) WHERE removed_at IS NULL;
CREATE INDEX production_documents_by_deal ON public.production_documents USING btree (deal_id, uploaded_at DESC, id DESC) WHERE removed_at IS NULL;
CREATE INDEX production_documents_of_day ON public.production_documents USING btree (deal_id, uploaded_by, uploaded_at);
CREATE INDEX production_documents_removed ON public.production_documents USING btree (deal_id, removed_at) WHERE removed_at IS NOT NULL;
CREATE INDEX production_documents_to_clear ON public.production_documents USING btree (removed_at) WHERE removed_at IS NOT NULL AND body_cleared_at IS NULL;
ALTER TABLE public.production_documents ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.production_documents FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.production_documents TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY by_confidentiality ON public.production_documents FOR SELECT TO dealkeep_server
    USING (removed_at IS NULL AND app.document_is_visible(deal_id, confidentiality, ( SELECT true
   FROM public.deals d
  WHERE d.id = production_documents.deal_id AND (( SELECT app.user_id() AS user_id)) IS NOT NULL), ( SELECT app.deals_as(VARIADIC ARRAY['broker'::text, 'seller'::text, 'documents:read'::text]) AS deals_as), ( SELECT app.deals_under_nda() AS deals_under_nda), ( SELECT app.deals_held_exclusively() AS deals_held_exclusively)));
CREATE POLICY deal_side_adds ON public.production_documents FOR INSERT TO dealkeep_server
    WITH CHECK (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['broker'::text, 'seller'::text, 'documents:write'::text]) AS deals_acting_as))::uuid[]));
CREATE POLICY deal_side_changes ON public.production_documents FOR UPDATE TO dealkeep_server
    USING (removed_at IS NULL AND (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['broker'::text, 'seller'::text]) AS deals_acting_as))::uuid[])));
CREATE TRIGGER a_has_room_today BEFORE INSERT ON public.production_documents FOR EACH ROW EXECUTE FUNCTION app.limit_a_day('1000', 'uploaded_by', 'uploaded_at', 'documents');
CREATE TRIGGER a_keep_closed BEFORE INSERT OR DELETE OR UPDATE ON public.production_documents FOR EACH ROW EXECUTE FUNCTION app.keep_closed();
CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON public.production_documents FOR EACH ROW EXECUTE FUNCTION app.announce('documents', 'id');
CREATE TRIGGER finish_upload AFTER INSERT ON public.production_documents FOR EACH ROW EXECUTE FUNCTION app.finish_upload();
CREATE TRIGGER limit_sandbox AFTER INSERT ON public.production_documents FOR EACH STATEMENT EXECUTE FUNCTION app.limit_sandbox('500', 'documents', '100000000');
CREATE TRIGGER note_changed AFTER UPDATE ON public.production_documents REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_documents('production_document');
CREATE TRIGGER note_confidentiality BEFORE UPDATE OF confidentiality ON public.production_documents FOR EACH ROW WHEN (new.confidentiality <> old.confidentiality) EXECUTE FUNCTION app.note_confidentiality();
CREATE TRIGGER note_new AFTER INSERT ON public.production_documents REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('production_document');
CREATE TRIGGER note_removed AFTER DELETE ON public.production_documents REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('production_document');
CREATE TRIGGER queue_opened AFTER UPDATE OF confidentiality ON public.production_documents FOR EACH ROW WHEN (new.confidentiality <> old.confidentiality) EXECUTE FUNCTION app.queue_opened_document();
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON public.production_documents FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();
GRANT INSERT (deal_id, filename, category, confidentiality, size_bytes, media_type, sha256, storage_key, diligence_request), SELECT (id, deal_id, filename, category, confidentiality, size_bytes, media_type, sha256, uploaded_by, uploaded_at, diligence_request, confidentiality_before, confidentiality_changed_at), UPDATE (filename, category, confidentiality) ON public.production_documents TO dealkeep_server;

CREATE TABLE public.qoe_checklist (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    deal_id uuid NOT NULL,
    category text NOT NULL,
    title text NOT NULL,
    status text DEFAULT 'not_started'::text NOT NULL,
    completed_at timestamp with time zone,
    "position" integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT app.now() NOT NULL,
    updated_at timestamp with time zone DEFAULT app.now() NOT NULL,
    brokerage_id uuid NOT NULL,
    CONSTRAINT qoe_checklist_pkey PRIMARY KEY (id),
    CONSTRAINT qoe_checklist_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT qoe_checklist_category_check CHECK (length(category) >= 1 AND length(category) <= 64),
    CONSTRAINT qoe_checklist_status_check CHECK (status = ANY (ARRAY['not_started'::text, 'in_progress'::text, 'completed'::text, 'not_applicable'::text])),
    CONSTRAINT qoe_checklist_title_check CHECK (length(title) >= 1 AND length(title) <= 200)
);
CREATE INDEX qoe_checklist_by_deal ON public.qoe_checklist USING btree (deal_id, "position", id);
ALTER TABLE public.qoe_checklist ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.qoe_checklist FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.qoe_checklist TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY workspace_reads ON public.qoe_checklist FOR SELECT TO dealkeep_server
    USING (deal_id = ANY ((( SELECT app.qoe_deals(false) AS qoe_deals))::uuid[]));
CREATE POLICY editors_add ON public.qoe_checklist FOR INSERT TO dealkeep_server
    WITH CHECK (deal_id = ANY ((( SELECT app.qoe_deals(true) AS qoe_deals))::uuid[]));
CREATE POLICY editors_change ON public.qoe_checklist FOR UPDATE TO dealkeep_server
    USING (deal_id = ANY ((( SELECT app.qoe_deals(true) AS qoe_deals))::uuid[]));
CREATE POLICY editors_take_out ON public.qoe_checklist FOR DELETE TO dealkeep_server
    USING (deal_id = ANY ((( SELECT app.qoe_deals(true) AS qoe_deals))::uuid[]));
CREATE TRIGGER a_has_room BEFORE INSERT ON public.qoe_checklist FOR EACH ROW EXECUTE FUNCTION app.limit_of_deal('500', 'rows of the checklist');
CREATE TRIGGER a_keep_closed BEFORE INSERT OR DELETE OR UPDATE ON public.qoe_checklist FOR EACH ROW EXECUTE FUNCTION app.keep_closed();
CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON public.qoe_checklist FOR EACH ROW EXECUTE FUNCTION app.announce('qoe', 'id');
CREATE TRIGGER note_changed AFTER UPDATE ON public.qoe_checklist REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('qoe_checklist_item');
CREATE TRIGGER note_new AFTER INSERT ON public.qoe_checklist REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('qoe_checklist_item');
CREATE TRIGGER note_removed AFTER DELETE ON public.qoe_checklist REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('qoe_checklist_item');
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON public.qoe_checklist FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();
CREATE TRIGGER stamp_completion BEFORE INSERT OR UPDATE OF status ON public.qoe_checklist FOR EACH ROW EXECUTE FUNCTION app.stamp_completion('completed');
CREATE TRIGGER touch BEFORE UPDATE ON public.qoe_checklist FOR EACH ROW EXECUTE FUNCTION app.touch();
GRANT DELETE, INSERT (deal_id, category, title, status, "position"), SELECT, UPDATE (category, title, status, "position") ON public.qoe_checklist TO dealkeep_server;

CREATE TABLE public.qoe_workspace_members (
    deal_id uuid NOT NULL,
    participant_id uuid NOT NULL,
    role text DEFAULT 'reader'::text NOT NULL,
    added_by uuid DEFAULT app.user_id(),
    added_at timestamp with time zone DEFAULT app.now() NOT NULL,
    brokerage_id uuid NOT NULL,
    CONSTRAINT qoe_workspace_members_pkey PRIMARY KEY (deal_id, participant_id),
    CONSTRAINT qoe_workspace_members_added_by_fkey FOREIGN KEY (added_by) REFERENCES public.users(id),
    CONSTRAINT qoe_workspace_members_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT qoe_workspace_members_participant_id_deal_id_fkey FOREIGN KEY (participant_id, deal_id) REFERENCES public.participants(id, deal_id),
    CONSTRAINT qoe_workspace_members_role_check CHECK (role = ANY (ARRAY['reader'::text, 'editor'::text]))
);
CREATE INDEX qoe_members_by_adder ON public.qoe_workspace_members USING btree (added_by) WHERE added_by IS NOT NULL;
CREATE INDEX qoe_workspace_by_participant ON public.qoe_workspace_members USING btree (participant_id);
ALTER TABLE public.qoe_workspace_members ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.qoe_workspace_members FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.qoe_workspace_members TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY deal_side_and_own_see_it ON public.qoe_workspace_members FOR SELECT TO dealkeep_server
    USING ((deal_id = ANY ((( SELECT app.deals_as(VARIADIC ARRAY['broker'::text, 'seller'::text, 'qoe:read'::text]) AS deals_as))::uuid[])) OR (EXISTS ( SELECT
   FROM public.participants p
  WHERE p.id = qoe_workspace_members.participant_id AND (COALESCE(p.advises, p.id) = ANY ((( SELECT app.principals() AS principals))::uuid[])))));
CREATE POLICY brokers_let_in ON public.qoe_workspace_members FOR INSERT TO dealkeep_server
    WITH CHECK (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['broker'::text]) AS deals_acting_as))::uuid[]));
CREATE POLICY brokers_change_roles ON public.qoe_workspace_members FOR UPDATE TO dealkeep_server
    USING (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['broker'::text]) AS deals_acting_as))::uuid[]));
CREATE POLICY brokers_let_out ON public.qoe_workspace_members FOR DELETE TO dealkeep_server
    USING (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['broker'::text]) AS deals_acting_as))::uuid[]));
CREATE TRIGGER a_in_order BEFORE INSERT ON public.qoe_workspace_members FOR EACH ROW EXECUTE FUNCTION app.lock_part_first();
CREATE TRIGGER a_keep_closed BEFORE INSERT ON public.qoe_workspace_members FOR EACH ROW EXECUTE FUNCTION app.keep_closed();
CREATE TRIGGER a_keep_closed_update BEFORE UPDATE ON public.qoe_workspace_members FOR EACH ROW EXECUTE FUNCTION app.keep_closed();
CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON public.qoe_workspace_members FOR EACH ROW EXECUTE FUNCTION app.announce('qoe', 'participant_id');
CREATE TRIGGER check_member BEFORE INSERT OR UPDATE ON public.qoe_workspace_members FOR EACH ROW EXECUTE FUNCTION app.check_workspace_member();
CREATE TRIGGER queue_admission AFTER INSERT ON public.qoe_workspace_members FOR EACH ROW EXECUTE FUNCTION app.queue_admission();
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON public.qoe_workspace_members FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();
GRANT DELETE, INSERT (deal_id, participant_id, role), SELECT, UPDATE (role) ON public.qoe_workspace_members TO dealkeep_server;

CREATE TABLE public.question_answers (
    question_id uuid NOT NULL,
    deal_id uuid NOT NULL,
    answer_text text NOT NULL,
    answered_by uuid DEFAULT app.user_id(),
    answered_at timestamp with time zone DEFAULT app.now() NOT NULL,
    brokerage_id uuid NOT NULL,
    corrected_at timestamp with time zone,
    CONSTRAINT question_answers_pkey PRIMARY KEY (question_id),
    CONSTRAINT question_answers_answered_by_fkey FOREIGN KEY (answered_by) REFERENCES public.users(id),
    CONSTRAINT question_answers_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT question_answers_question_id_deal_id_fkey FOREIGN KEY (question_id, deal_id) REFERENCES public.questions(id, deal_id),
    CONSTRAINT question_answers_answer_text_check CHECK (length(answer_text) >= 1 AND length(answer_text) <= 8000)
);
CREATE INDEX question_answers_by_author ON public.question_answers USING btree (answered_by);
CREATE INDEX question_answers_by_deal ON public.question_answers USING btree (deal_id);
ALTER TABLE public.question_answers ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.question_answers FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.question_answers TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY deal_side_sees_it ON public.question_answers FOR SELECT TO dealkeep_server
    USING (deal_id = ANY ((( SELECT app.deals_as(VARIADIC ARRAY['broker'::text, 'seller'::text, 'questions:read'::text]) AS deals_as))::uuid[]));
CREATE POLICY sellers_answer ON public.question_answers FOR INSERT TO dealkeep_server
    WITH CHECK ((deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['seller'::text]) AS deals_acting_as))::uuid[])) AND (EXISTS ( SELECT
   FROM public.questions q
  WHERE q.id = question_answers.question_id AND q.deal_id = question_answers.deal_id AND (q.status = ANY (ARRAY['with_seller'::text, 'answered'::text])))));
CREATE POLICY sellers_correct_it ON public.question_answers FOR UPDATE TO dealkeep_server
    USING ((deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['seller'::text]) AS deals_acting_as))::uuid[])) AND (EXISTS ( SELECT
   FROM public.questions q
  WHERE q.id = question_answers.question_id AND (q.status = ANY (ARRAY['with_seller'::text, 'answered'::text])))));
CREATE TRIGGER a_keep_closed BEFORE INSERT OR DELETE OR UPDATE ON public.question_answers FOR EACH ROW EXECUTE FUNCTION app.keep_closed();
CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON public.question_answers FOR EACH ROW EXECUTE FUNCTION app.announce('questions', 'question_id');
CREATE TRIGGER note_changed AFTER UPDATE ON public.question_answers REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes_of_parts('question', 'question_id');
CREATE TRIGGER note_new AFTER INSERT ON public.question_answers REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes_of_parts('question', 'question_id');
CREATE TRIGGER note_removed AFTER DELETE ON public.question_answers REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes_of_parts('question', 'question_id');
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON public.question_answers FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();
CREATE TRIGGER stamp_correction BEFORE UPDATE OF answer_text ON public.question_answers FOR EACH ROW WHEN (new.answer_text <> old.answer_text) EXECUTE FUNCTION app.stamp_correction();
GRANT INSERT (question_id, deal_id, answer_text), SELECT, UPDATE (answer_text) ON public.question_answers TO dealkeep_server;

CREATE TABLE public.questions (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    deal_id uuid NOT NULL,
    category text NOT NULL,
    status text DEFAULT 'pending_broker_review'::text NOT NULL,
    question_text text NOT NULL,
    asked_by uuid NOT NULL,
    participant_id uuid NOT NULL,
    asked_at timestamp with time zone DEFAULT app.now() NOT NULL,
    rejection_reason text,
    distributed_response text,
    distributed_at timestamp with time zone,
    updated_at timestamp with time zone DEFAULT app.now() NOT NULL,
    brokerage_id uuid NOT NULL,
    CONSTRAINT questions_pkey PRIMARY KEY (id),
    CONSTRAINT questions_id_deal_id_key UNIQUE (id, deal_id),
    CONSTRAINT questions_asked_by_fkey FOREIGN KEY (asked_by) REFERENCES public.users(id),
    CONSTRAINT questions_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT questions_participant_id_deal_id_fkey FOREIGN KEY (participant_id, deal_id) REFERENCES public.participants(id, deal_id),
    CONSTRAINT questions_category_check CHECK (category = ANY (ARRAY['financials'::text, 'operations'::text, 'customers'::text, 'employees'::text, 'legal'::text, 'tax'::text, 'real_estate'::text, 'technology'::text, 'transaction'::text, 'other'::text])),
    CONSTRAINT questions_check CHECK ((status = 'distributed'::text) = (distributed_response IS NOT NULL)),
    CONSTRAINT questions_distributed_response_check CHECK (length(distributed_response) >= 1 AND length(distributed_response) <= 8000),
    CONSTRAINT questions_question_text_check CHECK (length(question_text) >= 1 AND length(question_text) <= 4000),
    CONSTRAINT questions_rejection_reason_check CHECK (length(rejection_reason) <= 2000),
    CONSTRAINT questions_status_check CHECK (status = ANY (ARRAY['pending_broker_review'::text, 'with_seller'::text, 'answered'::text, 'distributed'::text, 'rejected'::text, 'withdrawn'::text]))
);
CREATE INDEX questions_by_author ON public.questions USING btree (asked_by);
CREATE INDEX questions_by_deal ON public.questions USING btree (deal_id, asked_at DESC, id DESC);
CREATE INDEX questions_by_side ON public.questions USING btree (participant_id, asked_at DESC, id DESC);
CREATE INDEX questions_distributed ON public.questions USING btree (participant_id) INCLUDE (deal_id, distributed_at) WHERE status = 'distributed'::text;
CREATE INDEX questions_waiting ON public.questions USING btree (deal_id, status) INCLUDE (asked_at, updated_at) WHERE status = ANY (ARRAY['pending_broker_review'::text, 'with_seller'::text, 'answered'::text]);
ALTER TABLE public.questions ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.questions FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.questions TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY each_sees_their_part ON public.questions FOR SELECT TO dealkeep_server
    USING ((deal_id = ANY ((( SELECT app.deals_as(VARIADIC ARRAY['broker'::text, 'questions:read'::text]) AS deals_as))::uuid[])) OR (status = ANY (ARRAY['with_seller'::text, 'answered'::text, 'distributed'::text])) AND (deal_id = ANY ((( SELECT app.deals_as(VARIADIC ARRAY['seller'::text]) AS deals_as))::uuid[])) OR (participant_id = ANY ((( SELECT app.principals() AS principals))::uuid[])));
CREATE POLICY buyers_under_nda_ask ON public.questions FOR INSERT TO dealkeep_server
    WITH CHECK (asked_by = (( SELECT app.user_id() AS user_id)) AND status = 'pending_broker_review'::text AND (participant_id = ANY ((( SELECT app.principals() AS principals))::uuid[])) AND (deal_id = ANY ((( SELECT app.deals_under_nda() AS deals_under_nda))::uuid[])));
CREATE POLICY each_moves_it_on ON public.questions FOR UPDATE TO dealkeep_server
    USING ((deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['broker'::text]) AS deals_acting_as))::uuid[])) OR (status = ANY (ARRAY['with_seller'::text, 'answered'::text, 'distributed'::text])) AND (deal_id = ANY ((( SELECT app.deals_acting_as(VARIADIC ARRAY['seller'::text]) AS deals_acting_as))::uuid[])) OR asked_by = (( SELECT app.user_id() AS user_id)) AND (participant_id = ANY ((( SELECT app.principals() AS principals))::uuid[])));
CREATE TRIGGER a_has_room_today BEFORE INSERT ON public.questions FOR EACH ROW EXECUTE FUNCTION app.limit_a_day('200', 'asked_by', 'asked_at', 'questions');
CREATE TRIGGER a_keep_closed BEFORE INSERT OR DELETE OR UPDATE ON public.questions FOR EACH ROW EXECUTE FUNCTION app.keep_closed();
CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON public.questions FOR EACH ROW EXECUTE FUNCTION app.announce('questions', 'id');
CREATE TRIGGER check_a_move BEFORE UPDATE ON public.questions FOR EACH ROW EXECUTE FUNCTION app.check_move('question', 'status');
CREATE TRIGGER check_b_mover BEFORE UPDATE ON public.questions FOR EACH ROW EXECUTE FUNCTION app.check_question_mover();
CREATE TRIGGER check_c_repeat BEFORE UPDATE OF status ON public.questions FOR EACH ROW WHEN (new.status = old.status) EXECUTE FUNCTION app.check_repeated_step();
CREATE TRIGGER note_answer AFTER INSERT ON public.questions FOR EACH ROW WHEN (new.status = 'distributed'::text) EXECUTE FUNCTION app.note_answer();
CREATE TRIGGER note_answer_later AFTER UPDATE OF status, distributed_at, participant_id ON public.questions FOR EACH ROW WHEN (new.status = 'distributed'::text) EXECUTE FUNCTION app.note_answer();
CREATE TRIGGER note_changed AFTER UPDATE ON public.questions REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('question');
CREATE TRIGGER note_new AFTER INSERT ON public.questions REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('question');
CREATE TRIGGER note_removed AFTER DELETE ON public.questions REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.note_changes('question');
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON public.questions FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();
CREATE TRIGGER take_question BEFORE INSERT ON public.questions FOR EACH ROW EXECUTE FUNCTION app.take_question();
CREATE TRIGGER touch BEFORE UPDATE ON public.questions FOR EACH ROW EXECUTE FUNCTION app.touch();
GRANT INSERT (deal_id, category, question_text), SELECT, UPDATE (status, rejection_reason, distributed_response) ON public.questions TO dealkeep_server;

CREATE TABLE public.tool_grants (
    user_id uuid NOT NULL,
    client_id uuid NOT NULL,
    tool text NOT NULL,
    expires_at timestamp with time zone,
    granted_at timestamp with time zone DEFAULT app.now() NOT NULL,
    CONSTRAINT tool_grants_pkey PRIMARY KEY (user_id, client_id, tool),
    CONSTRAINT tool_grants_client_id_fkey FOREIGN KEY (client_id) REFERENCES public.connected_clients(id),
    CONSTRAINT tool_grants_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id),
    CONSTRAINT tool_grants_tool_check CHECK (tool ~ '^svc_[a-z_]{1,60}$'::text)
);
CREATE INDEX tool_grants_by_client ON public.tool_grants USING btree (client_id);
ALTER TABLE public.tool_grants ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.tool_grants FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.tool_grants TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY own ON public.tool_grants FOR SELECT TO dealkeep_server
    USING (user_id = (( SELECT app.user_id() AS user_id)));
GRANT SELECT ON public.tool_grants TO dealkeep_server;

CREATE TABLE public.users (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    email text NOT NULL,
    name text NOT NULL,
    suspended_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT app.now() NOT NULL,
    updated_at timestamp with time zone DEFAULT app.now() NOT NULL,
    erased_at timestamp with time zone,
    sandbox_id uuid,
    CONSTRAINT users_pkey PRIMARY KEY (id),
    CONSTRAINT users_sandbox_id_fkey FOREIGN KEY (sandbox_id) REFERENCES public.brokerages(id),
    CONSTRAINT users_email_check CHECK (email = lower(email) AND app.is_email_address(email)),
    CONSTRAINT users_fictive_check CHECK (sandbox_id IS NULL OR suspended_at IS NOT NULL),
    CONSTRAINT users_name_check CHECK (length(name) >= 1 AND length(name) <= 200),
    CONSTRAINT users_sandbox_check CHECK ((sandbox_id IS NULL) = (email !~~ '%.sandbox.invalid'::text))
);
CREATE UNIQUE INDEX users_by_email ON public.users USING btree (email);
CREATE INDEX users_by_erasure ON public.users USING btree (erased_at) WHERE erased_at IS NOT NULL;
CREATE INDEX users_by_pseudonym ON public.users USING btree (name) WHERE name ~~ 'Former participant %'::text;
CREATE INDEX users_by_sandbox ON public.users USING btree (sandbox_id) WHERE sandbox_id IS NOT NULL;
CREATE INDEX users_by_sandbox_mailbox ON public.users USING btree (split_part(email, '@'::text, 1)) WHERE sandbox_id IS NOT NULL;
ALTER TABLE public.users ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.users FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.users TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY by_a_deal_in_common ON public.users FOR SELECT TO dealkeep_server
    USING (( SELECT true
   FROM public.participants p
  WHERE p.user_id = users.id AND p.joined_at IS NOT NULL AND p.deal_id >=
        CASE
            WHEN (( SELECT app.narrowed_to() AS narrowed_to)) IS NULL THEN '00000000-0000-0000-0000-000000000000'::uuid
            ELSE ( SELECT app.narrowed_to() AS narrowed_to)
        END AND p.deal_id <=
        CASE
            WHEN (( SELECT app.narrowed_to() AS narrowed_to)) IS NULL THEN 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid
            ELSE ( SELECT app.narrowed_to() AS narrowed_to)
        END
 LIMIT 1) OR (( SELECT app.narrowed_to() AS narrowed_to)) IS NOT NULL AND app.knows_from_a_deal(id));
CREATE POLICY colleagues ON public.users FOR SELECT TO dealkeep_server
    USING (( SELECT true
   FROM public.members m
  WHERE m.user_id = users.id AND m.joined_at IS NOT NULL
 LIMIT 1));
CREATE POLICY oneself ON public.users FOR SELECT TO dealkeep_server
    USING (id = (( SELECT app.user_id() AS user_id)));
CREATE POLICY change_oneself ON public.users FOR UPDATE TO dealkeep_server
    USING (id = (( SELECT app.user_id() AS user_id)));
CREATE TRIGGER end_calendar_link AFTER UPDATE OF suspended_at ON public.users FOR EACH ROW WHEN (new.suspended_at IS NOT NULL) EXECUTE FUNCTION app.end_calendar_link_of();
CREATE TRIGGER forget_deleted_mailbox AFTER DELETE ON public.users FOR EACH ROW WHEN (old.email ~~ '%+%'::text) EXECUTE FUNCTION app.forget_mailbox();
CREATE TRIGGER forget_mailbox AFTER UPDATE OF erased_at ON public.users FOR EACH ROW WHEN (old.email ~~ '%+%'::text AND old.erased_at IS NULL AND new.erased_at IS NOT NULL) EXECUTE FUNCTION app.forget_mailbox();
CREATE TRIGGER forget_reminders AFTER UPDATE OF erased_at ON public.users FOR EACH ROW WHEN (new.erased_at IS NOT NULL) EXECUTE FUNCTION app.forget_reminders();
CREATE TRIGGER forget_visits AFTER UPDATE OF erased_at ON public.users FOR EACH ROW WHEN (new.erased_at IS NOT NULL) EXECUTE FUNCTION app.forget_visits();
CREATE TRIGGER note_renamed AFTER UPDATE OF name, email ON public.users FOR EACH ROW WHEN (old.name IS DISTINCT FROM new.name OR old.email IS DISTINCT FROM new.email) EXECUTE FUNCTION app.note_renamed();
CREATE TRIGGER on_suspension AFTER UPDATE OF suspended_at ON public.users FOR EACH ROW WHEN ((old.suspended_at IS NULL) <> (new.suspended_at IS NULL)) EXECUTE FUNCTION app.on_suspension();
CREATE TRIGGER touch BEFORE UPDATE ON public.users FOR EACH ROW EXECUTE FUNCTION app.touch();
GRANT SELECT, UPDATE (name) ON public.users TO dealkeep_server;

CREATE TABLE public.webhook_deliveries (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    nr bigint DEFAULT nextval('vault.delivery_order'::regclass) NOT NULL,
    endpoint_id uuid NOT NULL,
    seq bigint,
    event_id uuid NOT NULL,
    type text NOT NULL,
    object_type text NOT NULL,
    object_id uuid NOT NULL,
    about_deal uuid,
    occurred_at timestamp with time zone NOT NULL,
    is_again boolean DEFAULT false NOT NULL,
    state text DEFAULT 'waiting'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone,
    created_at timestamp(3) with time zone DEFAULT app.now() NOT NULL,
    first_attempt_at timestamp with time zone,
    last_attempt_at timestamp with time zone,
    ended_at timestamp with time zone,
    sent_to text,
    sent_bytes integer,
    sent_digest text,
    status integer,
    error text,
    answer text,
    answer_type text,
    millis integer,
    attempts_before integer DEFAULT 0 NOT NULL,
    CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id),
    CONSTRAINT webhook_deliveries_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES public.webhook_endpoints(id) ON DELETE CASCADE,
    CONSTRAINT webhook_deliveries_answer_check CHECK (length(answer) <= 4096),
    CONSTRAINT webhook_deliveries_answer_type_check CHECK (length(answer_type) <= 255),
    CONSTRAINT webhook_deliveries_check CHECK ((state = 'waiting'::text) = (ended_at IS NULL)),
    CONSTRAINT webhook_deliveries_error_check CHECK (length(error) <= 500),
    CONSTRAINT webhook_deliveries_sent_digest_check CHECK (length(sent_digest) <= 64),
    CONSTRAINT webhook_deliveries_sent_to_check CHECK (length(sent_to) <= 2000),
    CONSTRAINT webhook_deliveries_state_check CHECK (state = ANY (ARRAY['waiting'::text, 'delivered'::text, 'failed'::text, 'dropped'::text]))
);
CREATE INDEX answers_by_record ON public.webhook_deliveries USING btree (object_id) WHERE answer IS NOT NULL;
CREATE INDEX webhook_deliveries_by_age ON public.webhook_deliveries USING btree (created_at);
CREATE INDEX webhook_deliveries_by_first_attempt ON public.webhook_deliveries USING btree (endpoint_id, first_attempt_at, nr) WHERE state = 'waiting'::text AND next_attempt_at IS NOT NULL;
CREATE INDEX webhook_deliveries_due ON public.webhook_deliveries USING btree (endpoint_id, next_attempt_at, nr) WHERE state = 'waiting'::text AND next_attempt_at IS NOT NULL;
CREATE INDEX webhook_deliveries_in_log ON public.webhook_deliveries USING btree (endpoint_id, created_at DESC, nr DESC);
CREATE INDEX webhook_deliveries_in_order ON public.webhook_deliveries USING btree (endpoint_id, object_id, nr) WHERE state = 'waiting'::text;
CREATE INDEX webhook_deliveries_undelivered ON public.webhook_deliveries USING btree (endpoint_id, state, created_at DESC, nr DESC) WHERE state = ANY (ARRAY['failed'::text, 'dropped'::text]);
ALTER TABLE public.webhook_deliveries ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.webhook_deliveries FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.webhook_deliveries TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY with_the_endpoint ON public.webhook_deliveries FOR SELECT TO dealkeep_server
    USING (( SELECT true
   FROM public.webhook_endpoints e
  WHERE e.id = webhook_deliveries.endpoint_id));
GRANT SELECT (id, nr, endpoint_id, seq, event_id, type, object_type, object_id, about_deal, occurred_at, is_again, state, attempts, next_attempt_at, created_at, last_attempt_at, ended_at, sent_to, sent_bytes, sent_digest, status, error, answer, answer_type, millis) ON public.webhook_deliveries TO dealkeep_server;

CREATE TABLE public.webhook_endpoints (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    brokerage_id uuid NOT NULL,
    key_id uuid NOT NULL,
    url text NOT NULL,
    description text,
    types text[],
    state text DEFAULT 'on'::text NOT NULL,
    off_reason text,
    off_since timestamp with time zone,
    created_by uuid,
    created_at timestamp(3) with time zone DEFAULT app.now() NOT NULL,
    updated_at timestamp(3) with time zone DEFAULT app.now() NOT NULL,
    place bigint NOT NULL,
    history uuid NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    rests_until timestamp with time zone,
    succeeded_at timestamp with time zone,
    claim uuid,
    claimed_until timestamp with time zone,
    off_because text,
    queue_at timestamp with time zone DEFAULT app.now(),
    send_at timestamp with time zone DEFAULT app.now(),
    freed integer,
    removed_at timestamp with time zone,
    failed_in_a_row integer DEFAULT 0 NOT NULL,
    is_slow boolean DEFAULT false NOT NULL,
    CONSTRAINT webhook_endpoints_pkey PRIMARY KEY (id),
    CONSTRAINT webhook_endpoints_brokerage_id_fkey FOREIGN KEY (brokerage_id) REFERENCES public.brokerages(id),
    CONSTRAINT webhook_endpoints_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id),
    CONSTRAINT webhook_endpoints_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(id),
    CONSTRAINT webhook_endpoints_check CHECK ((state = 'off'::text) = (off_reason IS NOT NULL) AND (state = 'off'::text) = (off_since IS NOT NULL)),
    CONSTRAINT webhook_endpoints_check1 CHECK (off_because IS NULL OR state = 'off'::text),
    CONSTRAINT webhook_endpoints_check2 CHECK (removed_at IS NULL OR state = 'off'::text),
    CONSTRAINT webhook_endpoints_claim_check CHECK ((claim IS NULL) = (claimed_until IS NULL)),
    CONSTRAINT webhook_endpoints_description_check CHECK (length(description) >= 1 AND length(description) <= 200),
    CONSTRAINT webhook_endpoints_off_because_check CHECK (off_because = ANY (ARRAY['admin_gone'::text, 'key_rotated'::text])),
    CONSTRAINT webhook_endpoints_off_reason_check CHECK (off_reason = ANY (ARRAY['asked'::text, 'failing'::text])),
    CONSTRAINT webhook_endpoints_state_check CHECK (state = ANY (ARRAY['on'::text, 'off'::text])),
    CONSTRAINT webhook_endpoints_types_check CHECK (cardinality(types) >= 1 AND cardinality(types) <= 100),
    CONSTRAINT webhook_endpoints_url_check CHECK (length(url) >= 1 AND length(url) <= 2000 AND url ~ '^https?://'::text)
);
CREATE INDEX webhook_endpoints_by_brokerage ON public.webhook_endpoints USING btree (brokerage_id, created_at DESC, id DESC);
CREATE INDEX webhook_endpoints_by_creator ON public.webhook_endpoints USING btree (created_by) WHERE created_by IS NOT NULL;
CREATE INDEX webhook_endpoints_by_key ON public.webhook_endpoints USING btree (key_id, created_at DESC, id DESC);
CREATE INDEX webhook_endpoints_claimed ON public.webhook_endpoints USING btree (brokerage_id) WHERE claim IS NOT NULL;
CREATE INDEX webhook_endpoints_on ON public.webhook_endpoints USING btree (brokerage_id) WHERE state = 'on'::text AND queue_at IS DISTINCT FROM 'infinity'::timestamp with time zone;
CREATE INDEX webhook_endpoints_removed ON public.webhook_endpoints USING btree (removed_at) WHERE removed_at IS NOT NULL;
CREATE INDEX webhook_endpoints_to_queue ON public.webhook_endpoints USING btree (queue_at) WHERE state = 'on'::text AND queue_at IS NOT NULL;
CREATE INDEX webhook_endpoints_to_send ON public.webhook_endpoints USING btree (send_at) WHERE state = 'on'::text AND send_at IS NOT NULL;
ALTER TABLE public.webhook_endpoints ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.webhook_endpoints FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON public.webhook_endpoints TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE POLICY admins_and_their_key ON public.webhook_endpoints FOR SELECT TO dealkeep_server
    USING (removed_at IS NULL AND (( SELECT true
   FROM public.api_keys k
  WHERE k.id = webhook_endpoints.key_id) OR key_id = (( SELECT app.key_id() AS key_id)) AND brokerage_id = (( SELECT app.key_brokerage('webhooks:read'::text) AS key_brokerage))));
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF key_id, brokerage_id ON public.webhook_endpoints FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_key();
GRANT SELECT (id, brokerage_id, key_id, url, description, types, state, off_reason, off_since, created_by, created_at, updated_at, succeeded_at, off_because) ON public.webhook_endpoints TO dealkeep_server;

CREATE TABLE vault.access_tokens (
    digest bytea NOT NULL,
    family_id uuid NOT NULL,
    scopes text[] NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    CONSTRAINT access_tokens_pkey PRIMARY KEY (digest),
    CONSTRAINT access_tokens_family_id_fkey FOREIGN KEY (family_id) REFERENCES vault.token_families(id) ON DELETE CASCADE,
    CONSTRAINT access_tokens_digest_check CHECK (length(digest) = 32),
    CONSTRAINT access_tokens_scopes_check CHECK (scopes <@ '{mcp:read,mcp:write}'::text[] AND ('mcp:read'::text = ANY (scopes)))
);
CREATE INDEX access_tokens_by_expiry ON vault.access_tokens USING btree (expires_at);
CREATE INDEX access_tokens_by_family ON vault.access_tokens USING btree (family_id);
ALTER TABLE vault.access_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.access_tokens FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.access_tokens TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.address_changes (
    user_id uuid NOT NULL,
    digest bytea NOT NULL,
    new_email text NOT NULL,
    expires_at timestamp with time zone DEFAULT app.now() + '00:30:00'::interval NOT NULL,
    CONSTRAINT address_changes_pkey PRIMARY KEY (user_id),
    CONSTRAINT address_changes_digest_key UNIQUE (digest),
    CONSTRAINT address_changes_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id),
    CONSTRAINT address_changes_digest_check CHECK (length(digest) = 32),
    CONSTRAINT address_changes_new_email_check CHECK (app.is_email_address(new_email))
);
ALTER TABLE vault.address_changes ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.address_changes FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.address_changes TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE TRIGGER count_address_change AFTER INSERT OR UPDATE ON vault.address_changes FOR EACH ROW EXECUTE FUNCTION app.count_address_change();

CREATE TABLE vault.addresses_to_clear (
    user_id uuid NOT NULL,
    before timestamp with time zone NOT NULL,
    CONSTRAINT addresses_to_clear_pkey PRIMARY KEY (user_id),
    CONSTRAINT addresses_to_clear_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE
);
ALTER TABLE vault.addresses_to_clear ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.addresses_to_clear FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.addresses_to_clear TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.answers_of_people (
    user_id uuid NOT NULL,
    deal_id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    first_at timestamp with time zone,
    CONSTRAINT answers_of_people_pkey PRIMARY KEY (user_id, deal_id) INCLUDE (at, first_at)
);
ALTER TABLE vault.answers_of_people ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.answers_of_people FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.answers_of_people TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.api_key_digests (
    digest bytea NOT NULL,
    key_id uuid NOT NULL,
    issued_by uuid NOT NULL,
    issued_at timestamp with time zone DEFAULT app.now() NOT NULL,
    valid_until timestamp with time zone,
    brokerage_id uuid NOT NULL,
    CONSTRAINT api_key_digests_pkey PRIMARY KEY (digest),
    CONSTRAINT api_key_digests_issued_by_fkey FOREIGN KEY (issued_by) REFERENCES public.users(id),
    CONSTRAINT api_key_digests_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(id),
    CONSTRAINT api_key_digests_digest_check CHECK (length(digest) = 32)
);
CREATE INDEX api_key_digests_by_issuer ON vault.api_key_digests USING btree (issued_by);
CREATE INDEX api_key_digests_by_key ON vault.api_key_digests USING btree (key_id);
ALTER TABLE vault.api_key_digests ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.api_key_digests FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.api_key_digests TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF key_id, brokerage_id ON vault.api_key_digests FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_key();

CREATE TABLE vault.audit_months (
    name text NOT NULL,
    since timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    CONSTRAINT audit_months_pkey PRIMARY KEY (name)
);
ALTER TABLE vault.audit_months ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.audit_months FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.audit_months TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.audit_retention (
    only_row boolean DEFAULT true NOT NULL,
    months integer,
    CONSTRAINT audit_retention_pkey PRIMARY KEY (only_row),
    CONSTRAINT audit_retention_months_check CHECK (months >= 1 AND months <= 1200),
    CONSTRAINT audit_retention_only_row_check CHECK (only_row)
);
ALTER TABLE vault.audit_retention ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.audit_retention FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.audit_retention TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.authorization_codes (
    digest bytea NOT NULL,
    consent bytea NOT NULL,
    user_id uuid NOT NULL,
    client_id uuid NOT NULL,
    redirect_uri text NOT NULL,
    challenge text NOT NULL,
    scopes text[] NOT NULL,
    resource text NOT NULL,
    issued_at timestamp with time zone DEFAULT app.now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    burned_at timestamp with time zone,
    used_at timestamp with time zone,
    family_id uuid,
    factor_shown boolean DEFAULT false NOT NULL,
    CONSTRAINT authorization_codes_pkey PRIMARY KEY (digest),
    CONSTRAINT authorization_codes_consent_key UNIQUE (consent),
    CONSTRAINT authorization_codes_client_id_fkey FOREIGN KEY (client_id) REFERENCES public.connected_clients(id),
    CONSTRAINT authorization_codes_family_id_fkey FOREIGN KEY (family_id) REFERENCES vault.token_families(id) ON DELETE SET NULL,
    CONSTRAINT authorization_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id),
    CONSTRAINT authorization_codes_challenge_check CHECK (challenge ~ '^[A-Za-z0-9_-]{43}$'::text),
    CONSTRAINT authorization_codes_consent_check CHECK (length(consent) = 32),
    CONSTRAINT authorization_codes_digest_check CHECK (length(digest) = 32),
    CONSTRAINT authorization_codes_scopes_check CHECK (scopes <@ '{mcp:read,mcp:write}'::text[] AND ('mcp:read'::text = ANY (scopes)))
);
CREATE INDEX authorization_codes_by_client ON vault.authorization_codes USING btree (client_id);
CREATE INDEX authorization_codes_by_expiry ON vault.authorization_codes USING btree (expires_at);
CREATE INDEX authorization_codes_by_family ON vault.authorization_codes USING btree (family_id);
CREATE INDEX authorization_codes_by_user ON vault.authorization_codes USING btree (user_id);
ALTER TABLE vault.authorization_codes ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.authorization_codes FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.authorization_codes TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.brokerage_deletions (
    brokerage_id uuid NOT NULL,
    asked_at timestamp with time zone DEFAULT app.now() NOT NULL,
    asked_by uuid,
    due_at timestamp with time zone NOT NULL,
    begun_at timestamp with time zone,
    deals integer DEFAULT 0 NOT NULL,
    documents integer DEFAULT 0 NOT NULL,
    people integer DEFAULT 0 NOT NULL,
    CONSTRAINT brokerage_deletions_pkey PRIMARY KEY (brokerage_id),
    CONSTRAINT brokerage_deletions_asked_by_fkey FOREIGN KEY (asked_by) REFERENCES public.users(id),
    CONSTRAINT brokerage_deletions_brokerage_id_fkey FOREIGN KEY (brokerage_id) REFERENCES public.brokerages(id)
);
CREATE INDEX brokerage_deletions_by_asker ON vault.brokerage_deletions USING btree (asked_by);
CREATE INDEX brokerage_deletions_by_time ON vault.brokerage_deletions USING btree (due_at);
ALTER TABLE vault.brokerage_deletions ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.brokerage_deletions FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.brokerage_deletions TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.calendar_links (
    user_id uuid NOT NULL,
    digest bytea NOT NULL,
    created_at timestamp with time zone DEFAULT app.now() NOT NULL,
    factor_shown boolean DEFAULT false NOT NULL,
    CONSTRAINT calendar_links_pkey PRIMARY KEY (user_id),
    CONSTRAINT calendar_links_digest_key UNIQUE (digest),
    CONSTRAINT calendar_links_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id)
);
ALTER TABLE vault.calendar_links ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.calendar_links FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.calendar_links TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.challenges (
    digest bytea NOT NULL,
    user_id uuid,
    expires_at timestamp with time zone DEFAULT app.now() + '00:05:00'::interval NOT NULL,
    CONSTRAINT challenges_pkey PRIMARY KEY (digest),
    CONSTRAINT challenges_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id),
    CONSTRAINT challenges_digest_check CHECK (length(digest) = 32)
);
CREATE INDEX challenges_by_expiry ON vault.challenges USING btree (expires_at);
CREATE INDEX challenges_by_user ON vault.challenges USING btree (user_id) WHERE user_id IS NOT NULL;
ALTER TABLE vault.challenges ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.challenges FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.challenges TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.change_stream (
    only_one boolean DEFAULT true NOT NULL,
    published bigint DEFAULT 0 NOT NULL,
    mark bigint,
    mark_xid xid8,
    mark_at timestamp with time zone,
    origin text,
    history uuid DEFAULT gen_random_uuid() NOT NULL,
    webhooks_marked bigint DEFAULT 0 NOT NULL,
    webhooks_history uuid,
    webhooks_held uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    CONSTRAINT change_stream_pkey PRIMARY KEY (only_one),
    CONSTRAINT change_stream_check CHECK ((mark IS NULL) = (mark_xid IS NULL) AND (mark IS NULL) = (mark_at IS NULL)),
    CONSTRAINT change_stream_only_one_check CHECK (only_one)
);
ALTER TABLE vault.change_stream ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.change_stream FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.change_stream TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE TRIGGER wake_webhooks AFTER UPDATE OF published ON vault.change_stream FOR EACH ROW WHEN (new.published > old.published) EXECUTE FUNCTION app.wake_webhooks();

CREATE TABLE vault.cursor_secret (
    only_row boolean DEFAULT true NOT NULL,
    secret bytea DEFAULT uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) NOT NULL,
    CONSTRAINT cursor_secret_pkey PRIMARY KEY (only_row),
    CONSTRAINT cursor_secret_only_row_check CHECK (only_row)
);
ALTER TABLE vault.cursor_secret ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.cursor_secret FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.cursor_secret TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.deal_activity (
    deal_id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    record_id uuid NOT NULL,
    brokerage_id uuid NOT NULL,
    CONSTRAINT deal_activity_pkey PRIMARY KEY (deal_id)
);
CREATE INDEX deal_activity_by_brokerage ON vault.deal_activity USING btree (brokerage_id, at DESC, record_id DESC);
ALTER TABLE vault.deal_activity ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.deal_activity FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.deal_activity TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON vault.deal_activity FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();

CREATE TABLE vault.deal_notification_choices (
    user_id uuid NOT NULL,
    deal_id uuid NOT NULL,
    delivery text NOT NULL,
    brokerage_id uuid NOT NULL,
    CONSTRAINT deal_notification_choices_pkey PRIMARY KEY (user_id, deal_id),
    CONSTRAINT deal_notification_choices_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT deal_notification_choices_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id),
    CONSTRAINT deal_notification_choices_delivery_check CHECK (delivery = ANY (ARRAY['off'::text, 'app'::text, 'daily'::text]))
);
CREATE INDEX deal_notification_choices_by_deal ON vault.deal_notification_choices USING btree (deal_id);
ALTER TABLE vault.deal_notification_choices ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.deal_notification_choices FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.deal_notification_choices TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON vault.deal_notification_choices FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();

CREATE TABLE vault.deals_of_people (
    user_id uuid NOT NULL,
    deal_id uuid NOT NULL,
    organization_id uuid NOT NULL,
    title text NOT NULL,
    industry text,
    location text,
    asking_price numeric(20,4),
    state text NOT NULL,
    closed_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    stage text,
    stage_updated_at timestamp with time zone,
    holder_id uuid,
    buyer_user_id uuid,
    granted_at timestamp with time zone,
    expires_at timestamp with time zone,
    participant_id uuid NOT NULL,
    role text NOT NULL,
    principal_id uuid NOT NULL,
    side text NOT NULL,
    CONSTRAINT deals_of_people_pkey PRIMARY KEY (user_id, deal_id) INCLUDE (organization_id, title, industry, location, asking_price, state, closed_at, created_at, updated_at, stage, stage_updated_at, holder_id, buyer_user_id, granted_at, expires_at, participant_id, role, principal_id, side)
);
ALTER TABLE vault.deals_of_people ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.deals_of_people FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.deals_of_people TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.document_store (
    only_one boolean DEFAULT true NOT NULL,
    id uuid NOT NULL,
    claimed_at timestamp with time zone NOT NULL,
    marked_at timestamp with time zone,
    CONSTRAINT document_store_pkey PRIMARY KEY (only_one),
    CONSTRAINT document_store_only_one_check CHECK (only_one)
);
ALTER TABLE vault.document_store ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.document_store FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.document_store TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.events (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    at timestamp with time zone DEFAULT app.now() NOT NULL,
    kind text NOT NULL,
    deal_id uuid,
    subject text,
    subject_id uuid,
    actor_id uuid,
    person_id uuid,
    attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone DEFAULT app.now() NOT NULL,
    last_error text,
    rank smallint DEFAULT 1 NOT NULL,
    opened_from text,
    CONSTRAINT events_pkey PRIMARY KEY (id),
    CONSTRAINT events_kind_fkey FOREIGN KEY (kind) REFERENCES app.notification_kinds(kind)
);
CREATE INDEX events_by_deal ON vault.events USING btree (deal_id);
CREATE INDEX events_in_turn ON vault.events USING btree (rank, next_attempt_at, id);
ALTER TABLE vault.events ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.events FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.events TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.idempotency_keys (
    key_id uuid NOT NULL,
    idempotency_key text NOT NULL,
    body_digest bytea NOT NULL,
    contact_id uuid,
    made_at timestamp(3) with time zone NOT NULL,
    answer text,
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (key_id, idempotency_key),
    CONSTRAINT idempotency_keys_key_id_fkey FOREIGN KEY (key_id) REFERENCES public.api_keys(id),
    CONSTRAINT idempotency_keys_body_digest_check CHECK (length(body_digest) = 32),
    CONSTRAINT idempotency_keys_idempotency_key_check CHECK (length(idempotency_key) >= 1 AND length(idempotency_key) <= 255)
);
CREATE INDEX idempotency_keys_by_age ON vault.idempotency_keys USING btree (made_at);
CREATE INDEX idempotency_keys_by_named ON vault.idempotency_keys USING gin (app.named_in(answer)) WITH (fastupdate=off) WHERE answer IS NOT NULL;
CREATE INDEX idempotency_keys_with_secrets ON vault.idempotency_keys USING btree (made_at) WHERE answer ~~ '{"sealed":%'::text;
ALTER TABLE vault.idempotency_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.idempotency_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.idempotency_keys TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.invitations (
    digest bytea NOT NULL,
    user_id uuid NOT NULL,
    brokerage_id uuid,
    participant_id uuid,
    mailed boolean NOT NULL,
    created_at timestamp with time zone DEFAULT app.now() NOT NULL,
    expires_at timestamp with time zone DEFAULT app.now() + '14 days'::interval NOT NULL,
    used_at timestamp with time zone,
    CONSTRAINT invitations_pkey PRIMARY KEY (digest),
    CONSTRAINT invitations_brokerage_id_fkey FOREIGN KEY (brokerage_id) REFERENCES public.brokerages(id),
    CONSTRAINT invitations_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES public.participants(id),
    CONSTRAINT invitations_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id),
    CONSTRAINT invitations_check CHECK (num_nonnulls(brokerage_id, participant_id) = 1),
    CONSTRAINT invitations_digest_check CHECK (length(digest) = 32)
);
CREATE INDEX invitations_by_brokerage ON vault.invitations USING btree (brokerage_id) WHERE brokerage_id IS NOT NULL;
CREATE INDEX invitations_by_expiry ON vault.invitations USING btree (expires_at);
CREATE INDEX invitations_by_participant ON vault.invitations USING btree (participant_id) WHERE participant_id IS NOT NULL;
CREATE INDEX invitations_by_user ON vault.invitations USING btree (user_id);
ALTER TABLE vault.invitations ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.invitations FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.invitations TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE TRIGGER count_invitation AFTER INSERT ON vault.invitations FOR EACH ROW WHEN (new.mailed) EXECUTE FUNCTION app.count_invitation();

CREATE TABLE vault.job_places (
    job text NOT NULL,
    place uuid,
    CONSTRAINT job_places_pkey PRIMARY KEY (job)
);
ALTER TABLE vault.job_places ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.job_places FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.job_places TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.known_devices (
    digest bytea NOT NULL,
    user_id uuid NOT NULL,
    used_at timestamp with time zone DEFAULT app.now() NOT NULL,
    code_failures integer DEFAULT 0 NOT NULL,
    code_failed_at timestamp with time zone,
    CONSTRAINT known_devices_pkey PRIMARY KEY (digest, user_id),
    CONSTRAINT known_devices_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id),
    CONSTRAINT known_devices_digest_check CHECK (length(digest) = 32)
);
CREATE INDEX known_devices_by_use ON vault.known_devices USING btree (used_at);
CREATE INDEX known_devices_by_user ON vault.known_devices USING btree (user_id);
ALTER TABLE vault.known_devices ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.known_devices FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.known_devices TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.lapsing_exclusivities (
    exclusivity_id uuid NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT lapsing_exclusivities_pkey PRIMARY KEY (exclusivity_id),
    CONSTRAINT lapsing_exclusivities_exclusivity_id_fkey FOREIGN KEY (exclusivity_id) REFERENCES public.exclusivities(id) ON DELETE CASCADE
);
CREATE INDEX lapsing_exclusivities_in_order ON vault.lapsing_exclusivities USING btree (expires_at);
ALTER TABLE vault.lapsing_exclusivities ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.lapsing_exclusivities FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.lapsing_exclusivities TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.legal_holds (
    kind text NOT NULL,
    subject_id uuid NOT NULL,
    reference text,
    placed_at timestamp with time zone DEFAULT app.now() NOT NULL,
    CONSTRAINT legal_holds_pkey PRIMARY KEY (kind, subject_id),
    CONSTRAINT legal_holds_kind_check CHECK (kind = ANY (ARRAY['deal'::text, 'brokerage'::text, 'person'::text])),
    CONSTRAINT legal_holds_reference_check CHECK (length(reference) >= 1 AND length(reference) <= 200)
);
ALTER TABLE vault.legal_holds ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.legal_holds FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.legal_holds TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.mail_counts (
    subject text NOT NULL,
    since timestamp with time zone NOT NULL,
    sent integer NOT NULL,
    CONSTRAINT mail_counts_pkey PRIMARY KEY (subject, since)
);
CREATE INDEX mail_counts_by_named ON vault.mail_counts USING gin (app.counted_of(subject)) WITH (fastupdate=off);
CREATE INDEX mail_counts_by_time ON vault.mail_counts USING btree (since);
ALTER TABLE vault.mail_counts ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.mail_counts FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.mail_counts TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.ndas_of_people (
    user_id uuid NOT NULL,
    deal_id uuid NOT NULL,
    nda_id uuid NOT NULL,
    participant_id uuid NOT NULL,
    signed_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT ndas_of_people_pkey PRIMARY KEY (user_id, deal_id, nda_id) INCLUDE (participant_id, signed_at, expires_at)
);
ALTER TABLE vault.ndas_of_people ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.ndas_of_people FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.ndas_of_people TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE UNLOGGED TABLE vault.nodes (
    id uuid NOT NULL,
    place text NOT NULL,
    secrets_keys text[] NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    CONSTRAINT nodes_pkey PRIMARY KEY (id),
    CONSTRAINT nodes_place_check CHECK (length(place) >= 1 AND length(place) <= 300)
);
ALTER TABLE vault.nodes ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.nodes FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.nodes TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.notification_choices (
    user_id uuid NOT NULL,
    kind text NOT NULL,
    delivery text NOT NULL,
    CONSTRAINT notification_choices_pkey PRIMARY KEY (user_id, kind),
    CONSTRAINT notification_choices_kind_fkey FOREIGN KEY (kind) REFERENCES app.notification_kinds(kind),
    CONSTRAINT notification_choices_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id),
    CONSTRAINT notification_choices_delivery_check CHECK (delivery = ANY (ARRAY['off'::text, 'app'::text, 'daily'::text, 'at_once'::text]))
);
ALTER TABLE vault.notification_choices ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.notification_choices FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.notification_choices TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.notification_settings (
    user_id uuid NOT NULL,
    time_zone text DEFAULT 'UTC'::text NOT NULL,
    digest_hour integer DEFAULT 8 NOT NULL,
    CONSTRAINT notification_settings_pkey PRIMARY KEY (user_id),
    CONSTRAINT notification_settings_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id),
    CONSTRAINT notification_settings_digest_hour_check CHECK (digest_hour >= 0 AND digest_hour <= 23),
    CONSTRAINT notification_settings_time_zone_check CHECK (length(time_zone) <= 64)
);
ALTER TABLE vault.notification_settings ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.notification_settings FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.notification_settings TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.notifications (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    event_id uuid NOT NULL,
    user_id uuid NOT NULL,
    kind text NOT NULL,
    deal_id uuid,
    subject text,
    subject_id uuid,
    actor_id uuid,
    at timestamp with time zone NOT NULL,
    read_at timestamp with time zone,
    mail text,
    mail_due_at timestamp with time zone,
    mailed_at timestamp with time zone,
    CONSTRAINT notifications_pkey PRIMARY KEY (id),
    CONSTRAINT notifications_event_id_user_id_key UNIQUE (event_id, user_id),
    CONSTRAINT notifications_actor_id_fkey FOREIGN KEY (actor_id) REFERENCES public.users(id),
    CONSTRAINT notifications_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT notifications_kind_fkey FOREIGN KEY (kind) REFERENCES app.notification_kinds(kind),
    CONSTRAINT notifications_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id),
    CONSTRAINT notifications_mail_check CHECK (mail = ANY (ARRAY['daily'::text, 'at_once'::text]))
);
CREATE INDEX notifications_by_actor ON vault.notifications USING btree (actor_id) WHERE actor_id IS NOT NULL;
CREATE INDEX notifications_by_deal ON vault.notifications USING btree (deal_id);
CREATE INDEX notifications_by_time ON vault.notifications USING btree (at);
CREATE INDEX notifications_by_user ON vault.notifications USING btree (user_id, at DESC, id DESC);
CREATE INDEX notifications_mailed ON vault.notifications USING btree (user_id, deal_id, mailed_at DESC) WHERE mailed_at IS NOT NULL;
CREATE INDEX notifications_to_mail ON vault.notifications USING btree (mail_due_at) WHERE mail_due_at IS NOT NULL;
CREATE INDEX notifications_to_mail_by_user ON vault.notifications USING btree (user_id, mail_due_at) WHERE mail_due_at IS NOT NULL;
CREATE INDEX notifications_to_mail_of_accounts ON vault.notifications USING btree (mail_due_at) WHERE mail_due_at IS NOT NULL AND mail = 'at_once'::text AND deal_id IS NULL;
CREATE INDEX unread_notifications ON vault.notifications USING btree (user_id, at DESC, id DESC) WHERE read_at IS NULL;
ALTER TABLE vault.notifications ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.notifications FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.notifications TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE TRIGGER announce AFTER INSERT ON vault.notifications REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.announce_notifications();
CREATE TRIGGER announce_change AFTER UPDATE ON vault.notifications REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION app.announce_notifications();

CREATE TABLE vault.outbox (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    kind text NOT NULL,
    recipient text NOT NULL,
    recipient_id uuid,
    brokerage_id uuid,
    deal_id uuid,
    caused_by uuid,
    urgent boolean NOT NULL,
    facts jsonb DEFAULT '{}'::jsonb NOT NULL,
    secret text,
    link bytea,
    created_at timestamp with time zone DEFAULT app.now() NOT NULL,
    next_attempt_at timestamp with time zone DEFAULT app.now() NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    last_error text,
    claimed_until timestamp with time zone,
    give_up_at timestamp with time zone DEFAULT app.now() + '3 days'::interval NOT NULL,
    sent_at timestamp with time zone,
    given_up_at timestamp with time zone,
    refusals integer DEFAULT 0 NOT NULL,
    rank smallint DEFAULT 1 NOT NULL,
    turn_at timestamp with time zone DEFAULT app.now() NOT NULL,
    CONSTRAINT outbox_pkey PRIMARY KEY (id),
    CONSTRAINT outbox_brokerage_id_fkey FOREIGN KEY (brokerage_id) REFERENCES public.brokerages(id),
    CONSTRAINT outbox_caused_by_fkey FOREIGN KEY (caused_by) REFERENCES public.users(id),
    CONSTRAINT outbox_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT outbox_recipient_id_fkey FOREIGN KEY (recipient_id) REFERENCES public.users(id),
    CONSTRAINT outbox_check CHECK (sent_at IS NULL OR given_up_at IS NULL),
    CONSTRAINT outbox_check1 CHECK (sent_at IS NULL OR facts = '{}'::jsonb AND secret IS NULL),
    CONSTRAINT outbox_check2 CHECK (given_up_at IS NULL OR secret IS NULL),
    CONSTRAINT outbox_facts_check CHECK (length(facts::text) <= 200000),
    CONSTRAINT outbox_kind_check CHECK (kind ~ '^[a-z][a-z_]{0,49}$'::text),
    CONSTRAINT outbox_last_error_check CHECK (length(last_error) <= 500),
    CONSTRAINT outbox_link_check CHECK (length(link) = 32),
    CONSTRAINT outbox_recipient_check CHECK (app.is_email_address(recipient)),
    CONSTRAINT outbox_secret_check CHECK (length(secret) <= 2000)
);
CREATE INDEX outbox_by_address ON vault.outbox USING btree (recipient);
CREATE INDEX outbox_by_brokerage ON vault.outbox USING btree (brokerage_id, created_at DESC) WHERE sent_at IS NULL;
CREATE INDEX outbox_by_cause ON vault.outbox USING btree (caused_by);
CREATE INDEX outbox_by_deal ON vault.outbox USING btree (deal_id);
CREATE INDEX outbox_by_end ON vault.outbox USING btree (COALESCE(sent_at, given_up_at)) WHERE COALESCE(sent_at, given_up_at) IS NOT NULL;
CREATE INDEX outbox_by_link ON vault.outbox USING btree (link) WHERE link IS NOT NULL;
CREATE INDEX outbox_by_recipient ON vault.outbox USING btree (recipient_id);
CREATE INDEX outbox_by_turn ON vault.outbox USING btree (rank, turn_at) WHERE sent_at IS NULL AND given_up_at IS NULL;
CREATE INDEX outbox_given_up ON vault.outbox USING btree (given_up_at) WHERE given_up_at IS NOT NULL;
CREATE INDEX outbox_of_brokerage ON vault.outbox USING btree (brokerage_id) WHERE brokerage_id IS NOT NULL;
CREATE INDEX outbox_turns_of_brokerages ON vault.outbox USING btree (brokerage_id, rank, turn_at) WHERE sent_at IS NULL AND given_up_at IS NULL;
CREATE INDEX outbox_waiting_since ON vault.outbox USING btree (created_at) WHERE sent_at IS NULL AND given_up_at IS NULL;
ALTER TABLE vault.outbox ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.outbox FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.outbox TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.own_activity (
    user_id uuid NOT NULL,
    deal_id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    record_id uuid NOT NULL,
    CONSTRAINT own_activity_pkey PRIMARY KEY (user_id, deal_id)
);
CREATE INDEX own_activity_by_deal ON vault.own_activity USING btree (deal_id);
ALTER TABLE vault.own_activity ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.own_activity FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.own_activity TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.passkeys (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    user_id uuid NOT NULL,
    credential_id text NOT NULL,
    public_key bytea NOT NULL,
    counter bigint NOT NULL,
    transports text[] NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT app.now() NOT NULL,
    last_used_at timestamp with time zone,
    CONSTRAINT passkeys_pkey PRIMARY KEY (id),
    CONSTRAINT passkeys_credential_id_key UNIQUE (credential_id),
    CONSTRAINT passkeys_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id),
    CONSTRAINT passkeys_credential_id_check CHECK (length(credential_id) <= 1400),
    CONSTRAINT passkeys_name_check CHECK (length(name) >= 1 AND length(name) <= 100)
);
CREATE INDEX passkeys_by_user ON vault.passkeys USING btree (user_id);
ALTER TABLE vault.passkeys ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.passkeys FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.passkeys TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE TRIGGER note_factors_removed AFTER DELETE ON vault.passkeys REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION app.note_factors_removed();

CREATE TABLE vault.password_resets (
    digest bytea NOT NULL,
    user_id uuid NOT NULL,
    expires_at timestamp with time zone DEFAULT app.now() + '00:30:00'::interval NOT NULL,
    CONSTRAINT password_resets_pkey PRIMARY KEY (digest),
    CONSTRAINT password_resets_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id),
    CONSTRAINT password_resets_digest_check CHECK (length(digest) = 32)
);
CREATE INDEX password_resets_by_user ON vault.password_resets USING btree (user_id);
ALTER TABLE vault.password_resets ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.password_resets FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.password_resets TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.passwords (
    user_id uuid NOT NULL,
    phc text NOT NULL,
    changed_at timestamp with time zone DEFAULT app.now() NOT NULL,
    address_proven_at timestamp with time zone,
    CONSTRAINT passwords_pkey PRIMARY KEY (user_id),
    CONSTRAINT passwords_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id),
    CONSTRAINT passwords_phc_check CHECK (phc ~ '^\$argon2id\$v=19\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$'::text)
);
CREATE INDEX passwords_by_hash ON vault.passwords USING hash (phc);
ALTER TABLE vault.passwords ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.passwords FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.passwords TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.purged_changes (
    brokerage_id uuid NOT NULL,
    seq bigint NOT NULL,
    CONSTRAINT purged_changes_pkey PRIMARY KEY (brokerage_id),
    CONSTRAINT purged_changes_brokerage_id_fkey FOREIGN KEY (brokerage_id) REFERENCES public.brokerages(id)
);
ALTER TABLE vault.purged_changes ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.purged_changes FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.purged_changes TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.recovery_codes (
    user_id uuid NOT NULL,
    digest bytea NOT NULL,
    used_at timestamp with time zone,
    CONSTRAINT recovery_codes_pkey PRIMARY KEY (user_id, digest),
    CONSTRAINT recovery_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id),
    CONSTRAINT recovery_codes_digest_check CHECK (length(digest) = 32)
);
ALTER TABLE vault.recovery_codes ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.recovery_codes FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.recovery_codes TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.refresh_tokens (
    digest bytea NOT NULL,
    family_id uuid NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    consumed_at timestamp with time zone,
    consumed_clock timestamp with time zone,
    answer bytea,
    answer_scopes text[],
    CONSTRAINT refresh_tokens_pkey PRIMARY KEY (digest),
    CONSTRAINT refresh_tokens_family_id_fkey FOREIGN KEY (family_id) REFERENCES vault.token_families(id) ON DELETE CASCADE,
    CONSTRAINT refresh_tokens_digest_check CHECK (length(digest) = 32)
);
CREATE INDEX refresh_tokens_by_family ON vault.refresh_tokens USING btree (family_id);
CREATE INDEX refresh_tokens_living ON vault.refresh_tokens USING btree (family_id) WHERE consumed_at IS NULL;
CREATE INDEX refresh_tokens_with_answer ON vault.refresh_tokens USING btree (consumed_clock) WHERE answer IS NOT NULL;
ALTER TABLE vault.refresh_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.refresh_tokens FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.refresh_tokens TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.reminders (
    subject text NOT NULL,
    subject_id uuid NOT NULL,
    kind text NOT NULL,
    remind_at timestamp with time zone NOT NULL,
    due_at timestamp with time zone NOT NULL,
    deal_id uuid NOT NULL,
    CONSTRAINT reminders_pkey PRIMARY KEY (subject, subject_id, kind, remind_at),
    CONSTRAINT reminders_kind_fkey FOREIGN KEY (kind) REFERENCES app.notification_kinds(kind)
);
CREATE INDEX reminders_by_deal ON vault.reminders USING btree (deal_id);
CREATE INDEX reminders_by_time ON vault.reminders USING btree (remind_at);
ALTER TABLE vault.reminders ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.reminders FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.reminders TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.role_changes (
    participant_id uuid NOT NULL,
    deal_id uuid NOT NULL,
    brokerage_id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT role_changes_pkey PRIMARY KEY (participant_id),
    CONSTRAINT role_changes_participant_id_fkey FOREIGN KEY (participant_id) REFERENCES public.participants(id) ON DELETE CASCADE
);
CREATE INDEX role_changes_by_deal ON vault.role_changes USING btree (deal_id);
ALTER TABLE vault.role_changes ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.role_changes FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.role_changes TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON vault.role_changes FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();

CREATE TABLE vault.seal (
    only_row boolean DEFAULT true NOT NULL,
    secret bytea DEFAULT uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) NOT NULL,
    CONSTRAINT seal_pkey PRIMARY KEY (only_row),
    CONSTRAINT seal_only_row_check CHECK (only_row)
);
ALTER TABLE vault.seal ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.seal FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.seal TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.sent_reminders (
    subject text NOT NULL,
    subject_id uuid NOT NULL,
    recipient_id uuid NOT NULL,
    deal_id uuid NOT NULL,
    brokerage_id uuid NOT NULL,
    sent_by uuid NOT NULL,
    sent_at timestamp with time zone DEFAULT app.now() NOT NULL,
    CONSTRAINT sent_reminders_pkey PRIMARY KEY (subject, subject_id, recipient_id),
    CONSTRAINT sent_reminders_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT sent_reminders_recipient_id_fkey FOREIGN KEY (recipient_id) REFERENCES public.users(id),
    CONSTRAINT sent_reminders_sent_by_fkey FOREIGN KEY (sent_by) REFERENCES public.users(id),
    CONSTRAINT sent_reminders_subject_check CHECK (subject = ANY (ARRAY['ndas'::text, 'questions'::text, 'closing_conditions'::text]))
);
CREATE INDEX sent_reminders_by_deal ON vault.sent_reminders USING btree (deal_id, sent_at);
CREATE INDEX sent_reminders_by_recipient ON vault.sent_reminders USING btree (recipient_id);
CREATE INDEX sent_reminders_by_sender ON vault.sent_reminders USING btree (sent_by, sent_at);
CREATE INDEX sent_reminders_by_time ON vault.sent_reminders USING btree (sent_at);
ALTER TABLE vault.sent_reminders ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.sent_reminders FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.sent_reminders TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON vault.sent_reminders FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();

CREATE TABLE vault.sessions (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    user_id uuid NOT NULL,
    digest bytea NOT NULL,
    method text NOT NULL,
    created_at timestamp with time zone DEFAULT app.now() NOT NULL,
    authenticated_at timestamp with time zone DEFAULT app.now() NOT NULL,
    last_seen_at timestamp with time zone DEFAULT app.now() NOT NULL,
    second_factor_at timestamp with time zone,
    ended_at timestamp with time zone,
    address inet,
    user_agent text,
    CONSTRAINT sessions_pkey PRIMARY KEY (id),
    CONSTRAINT sessions_digest_key UNIQUE (digest),
    CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id),
    CONSTRAINT sessions_digest_check CHECK (length(digest) = 32),
    CONSTRAINT sessions_method_check CHECK (method = ANY (ARRAY['password'::text, 'code'::text, 'recovery_code'::text, 'passkey'::text, 'invitation'::text, 'set_up'::text])),
    CONSTRAINT sessions_user_agent_check CHECK (length(user_agent) <= 300)
);
CREATE INDEX sessions_by_user ON vault.sessions USING btree (user_id);
ALTER TABLE vault.sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.sessions FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.sessions TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE TRIGGER announce_end AFTER UPDATE OF ended_at ON vault.sessions FOR EACH ROW WHEN (old.ended_at IS NULL AND new.ended_at IS NOT NULL) EXECUTE FUNCTION app.announce_session_end();

CREATE TABLE vault.set_up_links (
    digest bytea NOT NULL,
    expires_at timestamp with time zone DEFAULT app.now() + '24:00:00'::interval NOT NULL,
    CONSTRAINT set_up_links_pkey PRIMARY KEY (digest),
    CONSTRAINT set_up_links_digest_check CHECK (length(digest) = 32)
);
ALTER TABLE vault.set_up_links ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.set_up_links FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.set_up_links TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.sign_in_steps (
    digest bytea NOT NULL,
    user_id uuid NOT NULL,
    expires_at timestamp with time zone DEFAULT app.now() + '00:10:00'::interval NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    CONSTRAINT sign_in_steps_pkey PRIMARY KEY (digest),
    CONSTRAINT sign_in_steps_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id),
    CONSTRAINT sign_in_steps_digest_check CHECK (length(digest) = 32)
);
CREATE INDEX sign_in_steps_by_user ON vault.sign_in_steps USING btree (user_id);
ALTER TABLE vault.sign_in_steps ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.sign_in_steps FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.sign_in_steps TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.token_families (
    id uuid DEFAULT app.uuid_v7() NOT NULL,
    user_id uuid NOT NULL,
    client_id uuid NOT NULL,
    scopes text[] NOT NULL,
    resource text NOT NULL,
    consented_at timestamp with time zone NOT NULL,
    ends_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    refreshed_on date,
    refreshes integer DEFAULT 0 NOT NULL,
    factor_shown boolean DEFAULT false NOT NULL,
    CONSTRAINT token_families_pkey PRIMARY KEY (id),
    CONSTRAINT token_families_client_id_fkey FOREIGN KEY (client_id) REFERENCES public.connected_clients(id),
    CONSTRAINT token_families_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id),
    CONSTRAINT token_families_scopes_check CHECK (scopes <@ '{mcp:read,mcp:write}'::text[] AND ('mcp:read'::text = ANY (scopes)))
);
CREATE INDEX token_families_by_end ON vault.token_families USING btree (ends_at);
CREATE INDEX token_families_by_user ON vault.token_families USING btree (user_id, client_id) WHERE revoked_at IS NULL;
CREATE INDEX token_families_of_clients ON vault.token_families USING btree (client_id);
CREATE INDEX token_families_of_people ON vault.token_families USING btree (user_id);
CREATE INDEX token_families_revoked ON vault.token_families USING btree (revoked_at) WHERE revoked_at IS NOT NULL;
ALTER TABLE vault.token_families ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.token_families FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.token_families TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.tool_call_keys (
    user_id uuid NOT NULL,
    client_id uuid NOT NULL,
    tool text NOT NULL,
    idempotency_key text NOT NULL,
    input_digest bytea NOT NULL,
    answer text,
    made_at timestamp(3) with time zone NOT NULL,
    CONSTRAINT tool_call_keys_pkey PRIMARY KEY (user_id, client_id, tool, idempotency_key),
    CONSTRAINT tool_call_keys_idempotency_key_check CHECK (length(idempotency_key) >= 1 AND length(idempotency_key) <= 255),
    CONSTRAINT tool_call_keys_input_digest_check CHECK (length(input_digest) = 32),
    CONSTRAINT tool_call_keys_tool_check CHECK (length(tool) >= 1 AND length(tool) <= 64)
);
CREATE INDEX tool_call_keys_by_age ON vault.tool_call_keys USING btree (made_at);
ALTER TABLE vault.tool_call_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.tool_call_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.tool_call_keys TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.totp (
    user_id uuid NOT NULL,
    secret text NOT NULL,
    confirmed_at timestamp with time zone,
    last_step bigint DEFAULT 0 NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    failed_at timestamp with time zone,
    CONSTRAINT totp_pkey PRIMARY KEY (user_id),
    CONSTRAINT totp_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id)
);
ALTER TABLE vault.totp ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.totp FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.totp TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE TRIGGER note_factors_removed AFTER DELETE ON vault.totp REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION app.note_factors_removed();

CREATE TABLE vault.unsubscribe_secret (
    only_row boolean DEFAULT true NOT NULL,
    secret bytea DEFAULT uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) NOT NULL,
    previous bytea,
    previous_until timestamp with time zone,
    CONSTRAINT unsubscribe_secret_pkey PRIMARY KEY (only_row),
    CONSTRAINT unsubscribe_secret_check CHECK ((previous IS NULL) = (previous_until IS NULL)),
    CONSTRAINT unsubscribe_secret_only_row_check CHECK (only_row)
);
ALTER TABLE vault.unsubscribe_secret ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.unsubscribe_secret FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.unsubscribe_secret TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.uploads (
    storage_key text NOT NULL,
    begun_at timestamp with time zone DEFAULT app.now() NOT NULL,
    CONSTRAINT uploads_pkey PRIMARY KEY (storage_key),
    CONSTRAINT uploads_storage_key_check CHECK (length(storage_key) >= 16 AND length(storage_key) <= 64)
);
ALTER TABLE vault.uploads ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.uploads FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.uploads TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

CREATE TABLE vault.visits (
    user_id uuid NOT NULL,
    deal_id uuid NOT NULL,
    brokerage_id uuid NOT NULL,
    tab text NOT NULL,
    began_at timestamp with time zone DEFAULT app.now() NOT NULL,
    before_at timestamp with time zone,
    CONSTRAINT visits_pkey PRIMARY KEY (user_id, deal_id, tab),
    CONSTRAINT visits_deal_id_fkey FOREIGN KEY (deal_id) REFERENCES public.deals(id),
    CONSTRAINT visits_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id),
    CONSTRAINT visits_tab_check CHECK (tab = ANY (ARRAY['documents'::text, 'questions'::text, 'offers'::text]))
);
CREATE INDEX visits_by_deal ON vault.visits USING btree (deal_id);
CREATE INDEX visits_by_time ON vault.visits USING btree (began_at);
ALTER TABLE vault.visits ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.visits FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.visits TO CURRENT_USER
    USING (true)
    WITH CHECK (true);
CREATE TRIGGER set_tenant BEFORE INSERT OR UPDATE OF deal_id, brokerage_id ON vault.visits FOR EACH ROW EXECUTE FUNCTION app.set_tenant_by_deal();

CREATE TABLE vault.webhook_secrets (
    id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    secret text NOT NULL,
    created_at timestamp with time zone DEFAULT app.now() NOT NULL,
    ends_at timestamp with time zone,
    CONSTRAINT webhook_secrets_pkey PRIMARY KEY (id),
    CONSTRAINT webhook_secrets_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES public.webhook_endpoints(id) ON DELETE CASCADE,
    CONSTRAINT webhook_secrets_secret_check CHECK (length(secret) <= 2000)
);
CREATE INDEX webhook_secrets_by_endpoint ON vault.webhook_secrets USING btree (endpoint_id);
ALTER TABLE vault.webhook_secrets ENABLE ROW LEVEL SECURITY;
ALTER TABLE vault.webhook_secrets FORCE ROW LEVEL SECURITY;
CREATE POLICY as_owner ON vault.webhook_secrets TO CURRENT_USER
    USING (true)
    WITH CHECK (true);

-- Views

CREATE VIEW vault.active_ndas AS
 SELECT deal_id,
    participant_id
   FROM public.ndas n
  WHERE status = 'active'::text AND (expires_at IS NULL OR expires_at > app.now());

CREATE VIEW vault.answers_of_parts AS
 SELECT p.user_id,
    p.deal_id,
    max(COALESCE(q.distributed_at, '-infinity'::timestamp with time zone)) AS at,
    min(COALESCE(q.distributed_at, '-infinity'::timestamp with time zone)) AS first_at
   FROM public.participants p
     JOIN public.questions q ON q.participant_id = COALESCE(p.advises, p.id) AND q.status = 'distributed'::text
  WHERE p.status = 'active'::text
  GROUP BY p.user_id, p.deal_id;

CREATE VIEW vault.caller AS
 SELECT NULLIF(split_part(identity, ','::text, 1), ''::text)::uuid AS user_id,
    app.barred_in(identity) AS barred,
    COALESCE(NULLIF(split_part(identity, ','::text, 8), ''::text)::uuid, '00000000-0000-0000-0000-000000000000'::uuid) AS first_deal,
    COALESCE(NULLIF(split_part(identity, ','::text, 8), ''::text)::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid) AS last_deal
   FROM ( SELECT current_setting('dealkeep.identity'::text, true) AS identity,
            s.secret
           FROM vault.seal s
         LIMIT 1) sealed
  WHERE identity <> ''::text AND current_setting('dealkeep.seal'::text, true) = app.seal_of(identity, secret)
 LIMIT 1;

CREATE VIEW vault.changes_of_findings AS
 SELECT f.deal_id,
    c.changed_by,
    c.changed_at
   FROM public.finding_changes c
     JOIN public.findings f ON f.id = c.finding_id;

CREATE VIEW vault.deals_of_parts AS
 SELECT p.user_id,
    p.deal_id,
    d.organization_id,
    d.title,
    d.industry,
    d.location,
    d.asking_price,
    d.state,
    d.closed_at,
    d.created_at,
    d.updated_at,
    g.state AS stage,
    g.updated_at AS stage_updated_at,
    x.participant_id AS holder_id,
    x.buyer_user_id,
    x.granted_at,
    x.expires_at,
    p.id AS participant_id,
    p.role,
    COALESCE(p.advises, p.id) AS principal_id,
        CASE
            WHEN p.advises IS NULL THEN p.role
            ELSE a.role
        END AS side
   FROM public.participants p
     JOIN public.deals d ON d.id = p.deal_id
     LEFT JOIN public.deal_stages g ON g.deal_id = d.id
     LEFT JOIN public.exclusivities x ON x.deal_id = d.id AND x.ended_at IS NULL
     LEFT JOIN public.participants a ON a.id = p.advises AND a.status = 'active'::text
  WHERE p.status = 'active'::text AND (p.advises IS NULL OR a.id IS NOT NULL) AND NOT (EXISTS ( SELECT
           FROM vault.deletions_begun b
          WHERE b.brokerage_id = d.organization_id));

CREATE VIEW vault.deals_told AS
 SELECT d.id,
    d.title,
    s.state,
    d.organization_id,
    d.industry,
    d.location,
    d.summary,
    d.asking_price,
    d.currency,
    d.needs_nda,
    x.buyer_user_id AS exclusive_buyer_user_id,
    x.granted_at AS exclusivity_granted_at,
    x.expires_at AS exclusivity_expires_at,
    d.closed_at,
    d.created_at,
    s.updated_at,
    d.keys_admitted
   FROM public.deals d
     LEFT JOIN LATERAL ( SELECT g_1.state,
            g_1.updated_at
           FROM public.deal_stages g_1
          WHERE g_1.deal_id = d.id
         LIMIT 1) g ON true
     LEFT JOIN LATERAL ( SELECT e.buyer_user_id,
            e.granted_at,
            e.expires_at
           FROM public.exclusivities e
          WHERE e.deal_id = d.id AND e.ended_at IS NULL AND (e.expires_at > app.now() OR g.state <> 'exclusivity'::text OR d.state = 'closed'::text)
         LIMIT 1) x ON true
     CROSS JOIN LATERAL ( SELECT
                CASE
                    WHEN g.state = 'exclusivity'::text AND x.buyer_user_id IS NULL THEN 'listed'::text
                    ELSE COALESCE(g.state, d.state)
                END AS state,
            GREATEST(d.updated_at, g.updated_at) AS updated_at) s;

CREATE VIEW vault.deletions_begun AS
 SELECT brokerage_id
   FROM vault.brokerage_deletions d
  WHERE begun_at IS NOT NULL;

CREATE VIEW vault.live_sessions AS
 SELECT s.id,
    s.user_id,
    s.digest,
    s.method,
    s.created_at,
    s.authenticated_at,
    s.last_seen_at,
    s.second_factor_at,
    s.ended_at,
    s.address,
    s.user_agent,
    u.email,
    u.name
   FROM vault.sessions s
     JOIN public.users u ON u.id = s.user_id
  WHERE s.ended_at IS NULL AND u.suspended_at IS NULL AND s.last_seen_at > (app.now() - '12:00:00'::interval) AND s.created_at > (app.now() - '30 days'::interval);

CREATE VIEW vault.ndas_of_parts AS
 SELECT p.user_id,
    p.deal_id,
    n.id AS nda_id,
    n.participant_id,
    n.signed_at,
    n.expires_at
   FROM public.participants p
     JOIN public.ndas n ON n.participant_id = COALESCE(p.advises, p.id)
  WHERE p.status = 'active'::text AND n.status = 'active'::text AND n.expires_at IS NOT NULL;

CREATE VIEW vault.parts AS
 SELECT user_id,
    deal_id,
    id AS participant_id,
    role,
    COALESCE(advises, id) AS principal_id,
        CASE
            WHEN advises IS NULL THEN role
            ELSE ( SELECT principal.role
               FROM public.participants principal
              WHERE principal.id = own.advises)
        END AS principal_role
   FROM public.participants own
  WHERE status = 'active'::text AND (advises IS NULL OR (( SELECT principal.status
           FROM public.participants principal
          WHERE principal.id = own.advises)) = 'active'::text) AND NOT (EXISTS ( SELECT
           FROM public.deals d
             JOIN vault.deletions_begun b ON b.brokerage_id = d.organization_id
          WHERE d.id = own.deal_id));

CREATE VIEW vault.selected_buyers AS
 SELECT deal_id,
    participant_id
   FROM public.exclusivities x
  WHERE ended_at IS NULL AND (expires_at > app.now() OR NOT (EXISTS ( SELECT
           FROM public.deal_stages g
          WHERE g.deal_id = x.deal_id AND g.state = 'exclusivity'::text)));

CREATE VIEW vault.working_clients AS
 SELECT c.id AS client_id,
    u.id AS user_id,
    c.name
   FROM public.connected_clients c,
    public.users u
  WHERE u.suspended_at IS NULL AND c.deleted_at IS NULL AND NOT c.disabled AND (c.brokerage_id IS NULL AND c.created_by = u.id OR (EXISTS ( SELECT
           FROM public.members m
          WHERE m.brokerage_id = c.brokerage_id AND m.user_id = u.id AND m.status = 'active'::text)));

-- Moves between states

INSERT INTO app.moves (subject, from_state, to_state) VALUES
    ('closing_condition', 'in_progress', 'open'),
    ('closing_condition', 'in_progress', 'satisfied'),
    ('closing_condition', 'in_progress', 'waived'),
    ('closing_condition', 'open', 'in_progress'),
    ('closing_condition', 'open', 'satisfied'),
    ('closing_condition', 'open', 'waived'),
    ('closing_condition', 'satisfied', 'open'),
    ('closing_condition', 'waived', 'open'),
    ('deal', 'closing', 'closed'),
    ('deal', 'closing', 'withdrawn'),
    ('deal', 'diligence', 'closing'),
    ('deal', 'diligence', 'withdrawn'),
    ('deal', 'draft', 'listed'),
    ('deal', 'draft', 'withdrawn'),
    ('deal', 'exclusivity', 'diligence'),
    ('deal', 'exclusivity', 'listed'),
    ('deal', 'exclusivity', 'withdrawn'),
    ('deal', 'listed', 'exclusivity'),
    ('deal', 'listed', 'under_offer'),
    ('deal', 'listed', 'withdrawn'),
    ('deal', 'under_offer', 'exclusivity'),
    ('deal', 'under_offer', 'withdrawn'),
    ('financing_source', 'applied', 'committed'),
    ('financing_source', 'applied', 'expired'),
    ('financing_source', 'applied', 'funded'),
    ('financing_source', 'applied', 'term_sheet'),
    ('financing_source', 'applied', 'withdrawn'),
    ('financing_source', 'committed', 'expired'),
    ('financing_source', 'committed', 'funded'),
    ('financing_source', 'committed', 'withdrawn'),
    ('financing_source', 'identified', 'applied'),
    ('financing_source', 'identified', 'committed'),
    ('financing_source', 'identified', 'expired'),
    ('financing_source', 'identified', 'funded'),
    ('financing_source', 'identified', 'term_sheet'),
    ('financing_source', 'identified', 'withdrawn'),
    ('financing_source', 'term_sheet', 'committed'),
    ('financing_source', 'term_sheet', 'expired'),
    ('financing_source', 'term_sheet', 'funded'),
    ('financing_source', 'term_sheet', 'withdrawn'),
    ('nda', 'active', 'expired'),
    ('nda', 'active', 'revoked'),
    ('nda', 'sent', 'active'),
    ('nda', 'sent', 'expired'),
    ('nda', 'sent', 'revoked'),
    ('participant', 'active', 'removed'),
    ('participant', 'invited', 'active'),
    ('participant', 'invited', 'removed'),
    ('participant', 'removed', 'invited'),
    ('question', 'answered', 'distributed'),
    ('question', 'pending_broker_review', 'rejected'),
    ('question', 'pending_broker_review', 'with_seller'),
    ('question', 'pending_broker_review', 'withdrawn'),
    ('question', 'with_seller', 'answered'),
    ('question', 'with_seller', 'pending_broker_review'),
    ('snapshot', 'processing', 'completed'),
    ('snapshot', 'processing', 'failed'),
    ('snapshot', 'requested', 'failed'),
    ('snapshot', 'requested', 'processing');

-- Functions

CREATE OR REPLACE FUNCTION app.accept_first_invitation(invitation_token bytea, chosen_name text, new_phc text, token bytea, earlier bytea, address inet, agent text, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  person uuid;
  by_mail boolean;
begin
  select i.user_id, i.mailed into person, by_mail from vault.invitations i join public.users u on u.id = i.user_id
    where i.digest = invitation_token and u.suspended_at is null for no key update of u;
  -- Whoever already has a password signs in with it instead: a link alone opens no account.
  insert into vault.passwords (user_id, phc, address_proven_at)
    select person, new_phc, case when by_mail then app.now() end where person is not null
    on conflict (user_id) do nothing;
  if not found then
    return false;
  end if;
  if not app.use_invitation(invitation_token, person, address, request_id) then
    perform app.refuse('invitation_expired', 'This invitation was already used or has expired. Ask for a new one.');
  end if;
  update public.users u set name = chosen_name where u.id = person;
  perform app.open_session(person, token, earlier, 'invitation', address, agent,
    request_id);
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.accept_first_invitation(bytea,text,text,bytea,bytea,inet,text,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.accept_invitation(session bytea, token bytea, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return coalesce((select app.use_invitation(token, l.user_id, accept_invitation.address, accept_invitation.request_id)
    from vault.live_sessions l where l.digest = session), false);
end
$function$;
GRANT EXECUTE ON FUNCTION app.accept_invitation(bytea,bytea,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.accept_offer_with_exclusivity()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  insert into public.offer_decisions (offer_id, deal_id, participant_id, decision, decided_by, decided_at)
    values (new.offer_id, new.deal_id, new.participant_id, 'accepted', new.granted_by, new.granted_at)
    on conflict (offer_id) do update
      set decision = excluded.decision, decided_by = excluded.decided_by, decided_at = excluded.decided_at;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.accepted_offer(deal_id uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (select a.offer_id from app.accepted_offers(array[deal_id]) a);
end
$function$;
GRANT EXECUTE ON FUNCTION app.accepted_offer(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.accepted_offers(deals uuid[])
 RETURNS TABLE(deal_id uuid, offer_id uuid)
 LANGUAGE sql
 STABLE
 SET search_path TO ''
BEGIN ATOMIC
 SELECT DISTINCT ON (x.deal_id) x.deal_id,
     c.offer_id
    FROM ((((public.exclusivities x
      JOIN public.offer_decisions c ON (((c.participant_id = x.participant_id) AND (c.decision = 'accepted'::text) AND (c.decided_at >= x.granted_at))))
      JOIN public.offers o ON ((o.id = c.offer_id)))
      LEFT JOIN public.deals d ON ((d.id = x.deal_id)))
      LEFT JOIN public.deal_stages g ON ((g.deal_id = x.deal_id)))
   WHERE ((x.deal_id = ANY (accepted_offers.deals)) AND (x.ended_at IS NULL) AND ((x.expires_at > app.now()) OR (COALESCE(g.state, d.state) = ANY (ARRAY['diligence'::text, 'closing'::text, 'closed'::text]))))
   ORDER BY x.deal_id, c.decided_at DESC, o.revision_number DESC;
END;
GRANT EXECUTE ON FUNCTION app.accepted_offers(uuid[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.account_at(address text, known_as text, of_sandbox uuid DEFAULT NULL::uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  found_one public.users;
begin
  if address like '%@erased.invalid' then
    perform app.refuse('address_not_taken', 'No e-mail can be sent to this address.');
  end if;
  loop
    insert into public.users (email, name, sandbox_id, suspended_at)
      values (address, known_as, of_sandbox, case when of_sandbox is not null then app.now() end) on conflict (email) do nothing;
    select u.* into found_one from public.users u where u.email = address for share;
    exit when found;
  end loop;
  if found_one.erased_at is not null then
    perform app.refuse('address_not_taken', 'No e-mail can be sent to this address.');
  end if;
  return found_one.id;
end
$function$;

CREATE OR REPLACE FUNCTION app.act_for_issuer(presented bytea, scope text, deal uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  key constant uuid := app.key_id();
  brokerage constant uuid := app.key_brokerage(scope);
  issuer constant uuid := app.issuer_of(presented);
  member record;
begin
  if key is null or brokerage is null or issuer is null or not deal = any (app.deals_acting_as(scope)) then
    raise insufficient_privilege using message = 'not a key that acts on this deal';
  end if;
  select m.administered into member from app.memberships_of(issuer) m;
  -- A token shows no second factor: entering with it has seen that its issuer has one where the brokerage asks for it.
  perform app.seal(concat(issuer, ',,', key, ',', brokerage, ',,,,', app.standing(issuer, '{}', member.administered, deal)));
end
$function$;
GRANT EXECUTE ON FUNCTION app.act_for_issuer(bytea,text,uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.activity_in_sight()
 RETURNS TABLE(id uuid, at timestamp with time zone, user_id uuid, client_id uuid, deal_id uuid, action text, subject_id text, outcome text, details jsonb)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  administered constant uuid[] := app.brokerages_as('admin');
  since timestamptz := app.now() - interval '30 days';
  remaining int := 10000;
  found_at timestamptz[] := '{}';
  part record;
  one record;
  looked int;
  shown int;
begin
  if me is null or app.narrowed_to() is not null then
    return;
  end if;
  for part in
    -- What the caller is to each of these deals, and what follows from it whatever the record.
    select o.*, k.at as last_at,
      o.side in ('broker', 'seller') as sells,
      o.side = 'buyer' and exists (select from vault.active_ndas n where n.participant_id = o.principal_id) as signed,
      o.side = 'buyer' and exists (select from public.exclusivities x
        where x.deal_id = o.deal_id and x.participant_id = o.principal_id and x.ended_at is null and x.expires_at > app.now()) as holds,
      (select x.granted_at from public.exclusivities x
        where o.side = 'buyer' and x.deal_id = o.deal_id and x.participant_id = o.principal_id and x.ended_at is null
          and exists (select from vault.selected_buyers s where s.deal_id = x.deal_id and s.participant_id = x.participant_id)) as selected_at,
      (select d.needs_nda from public.deals d where d.id = o.deal_id) as needs_nda,
      o.side in ('broker', 'seller', 'viewer')
        or (select d.organization_id from public.deals d where d.id = o.deal_id) = any (administered) as sees_all
    from (
      select p.deal_id, case when s.side <> 'viewer' then p.principal_id end as principal_id, s.side from (
        select o.deal_id, o.id, o.role, o.advises, coalesce(o.advises, o.id) as principal_id from public.participants o
        where o.user_id = me and o.status = 'active' and o.role <> 'broker'
          and (barred = '{}' or (select d.organization_id from public.deals d where d.id = o.deal_id) <> all (barred))
        order by o.id desc offset 0) p
      cross join lateral (select case when p.advises is null then p.role
        else (select a.role from public.participants a where a.id = p.advises and a.status = 'active') end as side offset 0) s
      where s.side is not null
        and exists (select from vault.deals_of_people k where k.user_id = me and k.deal_id = p.deal_id) order by p.id desc limit 50) o
    -- Deal by deal: PostgreSQL would read the activity of the platform for fifty of them.
    cross join lateral (select d.at, d.record_id from vault.deal_activity d where d.deal_id = o.deal_id and d.at > since offset 0) k
    order by k.at desc, k.record_id desc
  loop
    exit when part.last_at < since;
    looked := 0;
    shown := 0;
    -- Read in the order of the index, and no further than the loop goes.
    for one in
      select l.id, l.at, l.user_id, l.client_id, l.action, l.subject_id, l.outcome, l.details,
        case when l.user_id is not distinct from me or l.subject is null or l.subject_id not like '________-____-____-____-____________' then false
          else case l.subject
            when 'questions' then (select true from public.questions q
              where q.id = l.subject_id::uuid and q.deal_id = part.deal_id and (part.side = 'broker' or q.participant_id = part.principal_id
                or (part.side = 'seller' and q.status in ('with_seller', 'answered', 'distributed'))))
            when 'question_answers' then part.sells and (select true from public.question_answers q
              where q.question_id = l.subject_id::uuid and q.deal_id = part.deal_id limit 1)
            when 'ndas' then (select true from public.ndas n
              where n.id = l.subject_id::uuid and n.deal_id = part.deal_id and (part.sells or n.participant_id = part.principal_id))
            when 'documents' then (select true from public.documents d
              where d.id = l.subject_id::uuid and d.deal_id = part.deal_id and d.removed_at is null
                and (part.sells or d.confidentiality = 'public' or (d.confidentiality = 'nda_gated' and part.signed)
                  or (d.confidentiality = 'selected_buyer_only' and part.holds)))
            when 'production_documents' then (select true from public.production_documents d
              where d.id = l.subject_id::uuid and d.deal_id = part.deal_id and d.removed_at is null
                and (part.sells or d.confidentiality = 'public' or (d.confidentiality = 'nda_gated' and part.signed)
                  or (d.confidentiality = 'selected_buyer_only' and part.holds)))
            when 'offers' then (select true from public.offers o
              where o.id = l.subject_id::uuid and o.deal_id = part.deal_id and (part.sells or o.participant_id = part.principal_id))
            when 'closing_conditions' then (part.sees_all or part.selected_at is not null) and (select true from public.closing_conditions c
              where c.id = l.subject_id::uuid and c.deal_id = part.deal_id)
            when 'findings' then (select true from public.findings f
              where f.id = l.subject_id::uuid and f.deal_id = part.deal_id and (part.sells or f.participant_id = part.principal_id))
            when 'participants' then (select true from public.participants p
              where p.id = l.subject_id::uuid and p.deal_id = part.deal_id and (part.sees_all or (
                not exists (select from vault.role_changes c where c.participant_id = p.id and c.at > l.at)
                and (coalesce(p.advises, p.id) = part.principal_id
                  or (part.side = 'buyer' and p.status = 'active'
                    and (p.role = 'broker' or (p.role = 'seller' and (part.signed or not part.needs_nda))))))))
            when 'deals' then l.subject_id = part.deal_id::text
            -- Not what was before they were selected: it may have been about somebody else.
            when 'deal_stages' then part.sees_all or l.at >= part.selected_at
            when 'exclusive_buyers' then part.sees_all or l.subject_id = part.principal_id::text
            else false end
        end as visible
      from (
        select r.id, r.at, r.user_id, r.client_id, r.action, r.subject_id, r.outcome, r.details, app.subject_of(r.action, r.details) as subject
        from public.audit_records r
        where r.deal_id = part.deal_id and r.noted and r.at >= since
        order by r.at desc, r.id desc limit 5000) l
      order by l.at desc, l.id desc
    loop
      looked := looked + 1;
      if one.visible then
        id := one.id; at := one.at; user_id := one.user_id; client_id := one.client_id; deal_id := part.deal_id;
        action := one.action; subject_id := one.subject_id; outcome := one.outcome; details := one.details;
        return next;
        shown := shown + 1;
        found_at := found_at || one.at;
      end if;
      exit when shown = 8 or looked >= greatest(remaining, 200);
    end loop;
    remaining := remaining - looked;
    if cardinality(found_at) >= 8 then
      found_at := array(select f from unnest(found_at) f order by f desc limit 8);
      since := found_at[8];
    end if;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION app.actual_state(deal_id uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(g.state, d.state) from public.deals d left join public.deal_stages g on g.deal_id = d.id
    where d.id = actual_state.deal_id);
end
$function$;

CREATE OR REPLACE FUNCTION app.add_passkey(session bytea, challenge bytea, credential text, public_key bytea, counter bigint, transports text[], label text, token bytea, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  this constant uuid := (select l.id from vault.live_sessions l where l.digest = session);
begin
  if not app.add_passkey(session, challenge, credential, public_key, counter, transports, label, address, request_id) then
    return false;
  end if;
  perform app.renew_session(this, token);
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.add_passkey(bytea,bytea,text,bytea,bigint,text[],text,bytea,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.add_passkey(session bytea, challenge bytea, credential text, public_key bytea, counter bigint, transports text[], label text, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  this vault.live_sessions;
begin
  -- Whoever ends the sessions of the account meanwhile is waited for.
  perform from public.users u where u.id = (select l.user_id from vault.live_sessions l where l.digest = session) for no key update;
  select r.* into this from app.recent_session_with_factor(session) r;
  delete from vault.challenges c where c.digest = challenge and c.user_id = this.user_id and c.expires_at > app.now();
  if not found then
    return false;
  end if;
  if exists (select from vault.passkeys k where k.credential_id = credential) then
    perform app.refuse('passkey_known', 'This passkey is registered already.');
  end if;
  if 20 <= (select count(*) from vault.passkeys k where k.user_id = this.user_id) then
    perform app.refuse('too_many_passkeys', 'You have 20 passkeys: remove one before you add another.');
  end if;
  insert into vault.passkeys (user_id, credential_id, public_key, counter, transports, name)
    values (this.user_id, credential, add_passkey.public_key, add_passkey.counter, add_passkey.transports, label);
  update vault.sessions s set second_factor_at = app.now() where s.id = this.id;
  perform app.notify_security_change(this.user_id, 'passkey_added');
  perform app.record(this.user_id, 'passkey.add', 'done', null, address, request_id);
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.add_passkey(bytea,bytea,text,bytea,bigint,text[],text,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.add_webhook(endpoint uuid, of_key uuid, url text, description text, types text[], secret_id uuid, secret text, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  key public.api_keys;
begin
  perform app.hold_webhook_admins();
  if app.key_id() is not null then
    select k.* into key from public.api_keys k
      where k.id = app.key_id() and app.key_brokerage('webhooks:write') is not null for no key update;
    if key.id is null then
      return false;
    end if;
  else
    key := app.key_to_manage(of_key);
    perform app.check_recent_sign_in();
  end if;
  if not app.is_key_in_force(key.id) then
    perform app.refuse('api_key_ended', 'This API key has ended: choose one that is in force.');
  end if;
  if 20 <= (select count(*) from public.webhook_endpoints e where e.key_id = key.id and e.removed_at is null) then
    perform app.refuse('too_many_webhooks', 'This API key has 20 webhooks: remove one before you add another.');
  end if;
  perform app.check_webhooks_on(key.id);
  insert into public.webhook_endpoints (id, brokerage_id, key_id, url, description, types, created_by, place, history)
    select endpoint, key.brokerage_id, key.id, add_webhook.url, add_webhook.description, add_webhook.types, app.user_id(), s.published, s.history
    from vault.change_stream s;
  insert into vault.webhook_secrets (id, endpoint_id, secret) values (secret_id, endpoint, add_webhook.secret);
  perform app.audit('webhook.create', endpoint::text, 'done', key.brokerage_id, null, address, request_id, jsonb_build_object('key_id', key.id, 'host', app.host_of(url)));
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.add_webhook(uuid,uuid,text,text,text[],uuid,text,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.address_in_doubt(brokerage uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (select from vault.passwords w where w.user_id = app.user_id() and w.address_proven_at is null)
    and not brokerage = any (app.brokerages_as('admin', 'broker', 'staff'));
end
$function$;

CREATE OR REPLACE FUNCTION app.admit_keys(deal uuid, admitted boolean, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.user_id() is null or app.client_id() is not null or not deal = any (app.deals_acting_as('broker')) then
    return false;
  end if;
  update public.deals d set keys_admitted = admitted where d.id = deal and d.keys_admitted <> admitted;
  if found then
    perform app.audit(case when admitted then 'deal.admit_keys' else 'deal.shut_out_keys' end, deal::text, 'done', null, deal, address, request_id, '{}');
  end if;
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.admit_keys(uuid,boolean,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.admit_keys_by_default(of_brokerage uuid, admitted boolean, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return false;
  end if;
  update public.brokerages b set admit_keys_by_default = admitted where b.id = of_brokerage and b.admit_keys_by_default <> admitted;
  if found then
    perform app.audit('brokerage.admit_keys', of_brokerage::text, 'done', of_brokerage, null, address, request_id, jsonb_build_object('admitted', admitted));
  end if;
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.admit_keys_by_default(uuid,boolean,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.announce()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  changed jsonb;
  deal text;
begin
  if tg_op = 'DELETE' and current_setting('dealkeep.deleting', true) = 'on' then
    return null;
  end if;
  changed := to_jsonb(case when tg_op = 'DELETE' then old else new end);
  deal := changed ->> case when tg_table_name = 'deals' then 'id' else 'deal_id' end;
  if tg_table_name = 'finding_comments' then
    select f.deal_id into deal from public.findings f where f.id = (changed ->> 'finding_id')::uuid;
  end if;
  perform pg_notify('dealkeep_changes', json_build_object(
    'topic', tg_argv[0], 'table', tg_table_name, 'record', changed ->> tg_argv[1], 'deal_id', deal,
    'gone', tg_op = 'DELETE' or changed ->> 'removed_at' is not null)::text);
  if tg_op = 'UPDATE' and tg_argv[0] = 'documents' and to_jsonb(old) ->> 'confidentiality' <> changed ->> 'confidentiality' then
    perform pg_notify('dealkeep_changes', json_build_object(
      'topic', tg_argv[0], 'table', (to_jsonb(old) ->> 'confidentiality') || ' documents', 'record', changed ->> 'id', 'deal_id', deal, 'gone', true)::text);
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.announce_contradiction_answer()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  told constant public.contradiction_answers := case when tg_op = 'DELETE' then old else new end;
  was_released constant boolean := tg_op <> 'INSERT' and old.released_at is not null;
begin
  if tg_op = 'DELETE' and current_setting('dealkeep.deleting', true) = 'on' then
    return null;
  end if;
  perform pg_notify('dealkeep_changes', json_build_object('topic', 'qoe',
    'table', case when was_released and (tg_op = 'DELETE' or new.released_at is null) then 'released_answers' else 'contradiction_answers' end,
    'record', told.id, 'deal_id', told.deal_id, 'gone', tg_op = 'DELETE' or (was_released and new.released_at is null))::text);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.announce_notifications()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform pg_notify('dealkeep_changes', json_build_object('topic', 'notifications', 'table', 'notifications',
      'record', c.user_id, 'deal_id', null, 'gone', false)::text)
    from (select distinct n.user_id from changed n) c;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.announce_own_place()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform pg_notify('dealkeep_changes', json_build_object('topic', 'deal', 'table', 'notifications',
    'record', new.user_id, 'deal_id', null, 'gone', false)::text);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.announce_session_end()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform pg_notify('dealkeep_changes', json_build_object(
    'topic', 'session', 'table', 'sessions', 'record', old.id, 'deal_id', null, 'gone', true)::text);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.answer_deal_invitation(participation uuid, accepts boolean, address inet, request_id text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  answered uuid;
  had_joined boolean;
  known_as text;
begin
  if app.client_id() is not null then
    return null;
  end if;
  select p.joined_at is not null, p.invited_name into had_joined, known_as from public.participants p where p.id = participation;
  if exists (select from public.participants p where p.id = participation and p.user_id = app.user_id() and p.status = 'invited'
    and p.brokerage_id = any (app.barred_in(app.identity())))
  then
    perform app.refuse_without_factor(app.user_id());
  end if;
  update public.participants p set status = case when accepts then 'active' else 'removed' end
    from public.deals d
    where p.id = participation and p.user_id = app.user_id() and p.status = 'invited'
      and d.id = p.deal_id and not app.address_in_doubt(d.organization_id)
      and not exists (select from vault.deletions_begun g where g.brokerage_id = d.organization_id)
    returning p.deal_id into answered;
  if found then
    delete from vault.invitations i where i.participant_id = participation and i.used_at is null;
    if accepts or had_joined then
      perform app.audit(case when accepts then 'invitation.accept' else 'invitation.decline' end, participation::text, 'done',
        null, answered, address, request_id, '{}');
    else
      -- The person's own record, and another for the deal's people, who do not learn whose account it was.
      perform app.record(app.user_id(), 'invitation.decline', 'done', null, address, request_id);
      insert into public.audit_records (brokerage_id, deal_id, action, subject_id, outcome, details)
        select d.organization_id, d.id, 'invitation.decline', participation, 'done', jsonb_build_object('name', known_as)
        from public.deals d where d.id = answered;
    end if;
  end if;
  return answered;
end
$function$;
GRANT EXECUTE ON FUNCTION app.answer_deal_invitation(uuid,boolean,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.answer_member_invitation(of_brokerage uuid, accepts boolean, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  me constant uuid := app.user_id();
  factor_required boolean;
  invited record;
begin
  if app.client_id() is not null or me is null then
    return false;
  end if;
  select b.requires_second_factor into factor_required from public.brokerages b where b.id = of_brokerage for share;
  if factor_required then
    perform from public.users u where u.id = me for no key update;
  end if;
  perform from public.members m where m.brokerage_id = of_brokerage and m.user_id = me for no key update;
  if not exists (select from app.member_invitations() i where i.brokerage_id = of_brokerage) then
    return false;
  end if;
  update public.members m set status = case when accepts then 'active' else 'removed' end
    where m.brokerage_id = of_brokerage and m.user_id = me and m.status = 'invited'
    returning m.person_id, m.joined_at is not null as had_joined into invited;
  delete from vault.invitations i where i.brokerage_id = of_brokerage and i.user_id = me and i.used_at is null;
  if accepts and factor_required then
    perform app.end_grants_without_factor(array[me], request_id);
  end if;
  if accepts or invited.had_joined then
    insert into public.audit_records (brokerage_id, user_id, action, outcome, address, request_id)
      values (of_brokerage, me, case when accepts then 'invitation.accept' else 'invitation.decline' end, 'done', address, request_id);
  else
    -- As in app.answer_deal_invitation(): the brokerage does not learn whose account it was.
    perform app.record(me, 'invitation.decline', 'done', null, address, request_id);
    insert into public.audit_records (brokerage_id, action, subject_id, outcome)
      values (of_brokerage, 'invitation.decline', invited.person_id, 'done');
  end if;
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.answer_member_invitation(uuid,boolean,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.appoint_broker(to_deal uuid, person uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  appointed uuid;
  identity constant text := current_setting('dealkeep.identity', true);
  seal constant text := current_setting('dealkeep.seal', true);
begin
  insert into public.participants as p (deal_id, user_id, role, status) values (to_deal, person, 'broker', 'active')
    on conflict (deal_id, user_id) do nothing returning p.id into appointed;
  if appointed is not null then
    return appointed;
  end if;
  select p.id into appointed from public.participants p left join public.participants a on a.id = p.advises
    where p.deal_id = to_deal and p.user_id = person and coalesce(a.role, p.role) in ('seller', 'buyer') and p.status <> 'removed';
  if found then
    perform app.refuse('successor_takes_part', 'The successor is a seller or buyer of one of these deals, or advises one: choose somebody else.');
  end if;
  -- One part a person and deal: the one that is there becomes the broker's, as if they were invited and accepted.
  update public.participants p
    set role = 'broker', advises = null, status = case when p.status = 'removed' then 'invited' else p.status end
    where p.deal_id = to_deal and p.user_id = person returning p.id into appointed;
  perform app.enter(person, null, null, null, null);
  update public.participants p set status = 'active' where p.id = appointed and p.status <> 'active';
  perform set_config('dealkeep.identity', coalesce(identity, ''), true), set_config('dealkeep.seal', coalesce(seal, ''), true);
  return appointed;
end
$function$;

CREATE OR REPLACE FUNCTION app.approve_client(client_id uuid, redirect_uri text, challenge text, scopes text[], resource text, consent bytea, code bytea, address inet, request_id text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  person constant uuid := app.user_id();
begin
  if person is null or app.client_id() is not null or not app.session_goes_on() then
    return 'signed_out';
  end if;
  if not app.client_takes(client_id, person, redirect_uri) then
    return 'client_refused';
  end if;
  perform app.check_not_barred();
  if 'mcp:write' = any (scopes) and not app.recently_signed_in() then
    return 'sign_in_again';
  end if;
  insert into vault.authorization_codes as kept
    (digest, consent, user_id, client_id, redirect_uri, challenge, scopes, resource, expires_at, factor_shown)
  values (code, approve_client.consent, person, approve_client.client_id, approve_client.redirect_uri,
    approve_client.challenge, approve_client.scopes, approve_client.resource, app.now() + interval '60 seconds', app.has_shown_factor())
  on conflict on constraint authorization_codes_consent_key do update
    set digest = excluded.digest, scopes = excluded.scopes, issued_at = excluded.issued_at, expires_at = excluded.expires_at,
      burned_at = null, factor_shown = excluded.factor_shown
    where kept.used_at is null and kept.user_id = excluded.user_id and kept.client_id = excluded.client_id
      and kept.redirect_uri = excluded.redirect_uri and kept.challenge = excluded.challenge;
  if not found then
    return 'answered';
  end if;
  perform app.audit('consent.give', approve_client.client_id::text, 'done', app.brokerage_of_grant(person, approve_client.client_id),
    null, address, request_id, jsonb_build_object('scopes', scopes));
  return 'issued';
end
$function$;
GRANT EXECUTE ON FUNCTION app.approve_client(uuid,text,text,text[],text,bytea,bytea,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.approve_document_client(url text, name text, redirect_uris text[], redirect_uri text, challenge text, scopes text[], resource text, consent bytea, code bytea, address inet, request_id text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  person constant uuid := app.user_id();
  kept public.connected_clients;
begin
  if person is null or app.client_id() is not null then
    return 'signed_out';
  end if;
  if not app.redirect_uri_matches(redirect_uris, redirect_uri) then
    return 'client_refused';
  end if;
  if 'mcp:write' = any (scopes) and not app.recently_signed_in() then
    return 'sign_in_again';
  end if;
  -- One after the other: of two who agree at once, the second finds what the first has made.
  perform from public.users u where u.id = person for no key update;
  select c.* into kept from public.connected_clients c
    where c.metadata_url = url and c.created_by = person and c.deleted_at is null for no key update;
  if kept.disabled then
    return 'client_refused';
  end if;
  if kept.id is null then
    insert into public.connected_clients (created_by, name, redirect_uris, metadata_url)
      values (person, approve_document_client.name, approve_document_client.redirect_uris, url) returning * into kept;
    perform app.audit('client.create', kept.id::text, 'done', app.brokerage_of_grant(person, kept.id), null, address, request_id, jsonb_build_object('document', url));
  elsif kept.name <> approve_document_client.name or kept.redirect_uris <> approve_document_client.redirect_uris then
    update public.connected_clients c
      set name = approve_document_client.name, redirect_uris = approve_document_client.redirect_uris where c.id = kept.id;
    perform app.audit('client.change', kept.id::text, 'done', app.brokerage_of_grant(person, kept.id), null, address, request_id, jsonb_build_object('document', url));
  end if;
  return app.approve_client(kept.id, redirect_uri, challenge, scopes, resource, consent, code, address, request_id);
end
$function$;
GRANT EXECUTE ON FUNCTION app.approve_document_client(text,text,text[],text,text,text[],text,bytea,bytea,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.ask_address_change(session bytea, new_email text, token bytea, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session_with_factor(session) r;
  if not found then
    return false;
  end if;
  insert into vault.address_changes (user_id, digest, new_email) values (this.user_id, token, lower(new_email))
    on conflict (user_id) do update
      set digest = excluded.digest, new_email = excluded.new_email, expires_at = excluded.expires_at;
  perform app.record(this.user_id, 'address.change_ask', 'done', null, address, request_id);
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.ask_address_change(bytea,text,bytea,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.ask_brokerage_deletion(brokerage uuid, days integer, address inet, request_id text)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  due timestamptz;
begin
  if brokerage is null or not brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return null;
  end if;
  perform app.check_recent_sign_in();
  due := app.mark_brokerage(brokerage, days, app.user_id());
  perform app.audit('brokerage.ask_deletion', brokerage::text, 'done', brokerage, null, address, request_id, jsonb_build_object('due_at', due));
  return due;
end
$function$;
GRANT EXECUTE ON FUNCTION app.ask_brokerage_deletion(uuid,integer,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.ask_reset(given_email text, token bytea, address inet, request_id text, device bytea DEFAULT NULL::bytea)
 RETURNS TABLE(email text, name text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  person public.users;
  known boolean;
  asker constant text := case family(address) when 6 then host(network(set_masklen(address, 64))) else coalesce(host(address), '') end;
begin
  -- The account first, as whoever changes its address does: waited for, the address is looked at again, and may be theirs no more.
  select u.* into person from public.users u
    where u.email = lower(given_email) and u.suspended_at is null
      and case when app.is_known_device(u.id, device) then 10 else 5 end > (select count(*) from vault.password_resets r where r.user_id = u.id and r.expires_at > app.now())
    for no key update;
  if not found then
    return;
  end if;
  -- Whoever asks again and again for somebody else leaves them what they ask for in a browser of their own.
  known := app.is_known_device(person.id, device);
  -- Nobody is told: it would show that there is an account.
  if not app.count_mail('reset by ' || asker, 'hour', 60) or not app.count_mail('reset by ' || asker, 'day', 200)
    or not app.count_mail(case when known then 'known reset to ' else 'reset to ' end || person.id, 'hour', 10)
    or not app.count_mail(case when known then 'known reset to ' else 'reset to ' end || person.id, 'day', 20)
  then
    return;
  end if;
  delete from vault.password_resets r where r.user_id = person.id and r.expires_at <= app.now();
  insert into vault.password_resets (digest, user_id) values (token, person.id);
  perform app.record(person.id, 'password.reset_ask', 'done', null, address, request_id);
  return query select person.email, person.name;
end
$function$;
GRANT EXECUTE ON FUNCTION app.ask_reset(text,bytea,inet,text,bytea) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.asked_address(session bytea, token bytea)
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select a.new_email from vault.address_changes a join vault.live_sessions l on l.user_id = a.user_id
  where l.digest = session and a.digest = token and a.expires_at > app.now()
$function$;
GRANT EXECUTE ON FUNCTION app.asked_address(bytea,bytea) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.audit(action text, subject_id text, outcome text, brokerage_id uuid, deal_id uuid, address inet, request_id text, details jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  identity constant text := app.identity();
  -- A person calls through a client, a key that acts for them, or neither.
  person constant uuid := nullif(split_part(identity, ',', 1), '');
begin
  insert into public.audit_records
    (brokerage_id, deal_id, user_id, client_id, key_id, address, request_id, action, subject_id, outcome, details, noted)
  values (
    coalesce((select d.organization_id from public.deals d where d.id = audit.deal_id), audit.brokerage_id,
      case when person is null then nullif(split_part(identity, ',', 4), '')::uuid end),
    audit.deal_id, person, case when person is not null then nullif(split_part(identity, ',', 2), '')::uuid end,
    nullif(split_part(identity, ',', 3), '')::uuid, audit.address, audit.request_id, audit.action,
    audit.subject_id, audit.outcome, coalesce(audit.details, '{}'),
    audit.outcome = 'done' and audit.action not like 'tool:%' and (audit.deal_id is not null or audit.action not like 'contact.%'));
end
$function$;
GRANT EXECUTE ON FUNCTION app.audit(text,text,text,uuid,uuid,inet,text,jsonb) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.audit_family(user_id uuid, client_id uuid, family_id uuid, action text, outcome text, address inet, request_id text, details jsonb)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  identity text := current_setting('dealkeep.identity', true);
  seal text := current_setting('dealkeep.seal', true);
begin
  perform app.enter(user_id, client_id, null, null, null);
  perform app.audit(action, family_id::text, outcome, app.brokerage_of_grant(user_id, client_id), null, address,
    request_id, details);
  -- Either the client is at fault, or somebody has a copy.
  if action in ('code.replay', 'tokens.replay') then
    perform app.queue_event('connection_ended', null, null, client_id, user_id, user_id);
  end if;
  perform set_config('dealkeep.identity', coalesce(identity, ''), true);
  perform set_config('dealkeep.seal', coalesce(seal, ''), true);
end
$function$;

CREATE OR REPLACE FUNCTION app.audit_of_brokerage(brokerage uuid, by_user uuid, beginning text, done boolean, since timestamp with time zone, before timestamp with time zone, after_at timestamp with time zone, after_id uuid, most integer)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_sort TO 'off'
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  brokered uuid[];
  seen uuid[];
  fivefold int;
  is_rare boolean;
  -- What was refused has an index of its own, and so has each kind of act but calls of tools. One person's records are read by their own index.
  refused constant boolean := done is false;
  by_kind constant boolean := by_user is null and not refused and coalesce(not starts_with(beginning, 'tool:') and not starts_with('tool:', beginning), false);
  kind constant text := case when by_kind then 'r.action not like ''tool:%'' and r.action collate "C" = k.action' end;
  span constant text := concat_ws(' and ', 'true',
    case when since is not null then 'r.at >= $5' end,
    case when before is not null then 'r.at < $6' end,
    case when after_at is not null then '(r.at, r.id) < ($7, $8)' end,
    case when refused then 'r.outcome not in (''done'', ''ok'', ''repeated'')' end);
  within constant text := 'r.brokerage_id = $1 and ' || span;
  asked constant text := concat_ws(' and ', 'true',
    case when by_user is not null then 'r.user_id = $2' end,
    case when beginning is not null then 'starts_with(r.action, $3)' end,
    case when done then 'r.outcome in (''done'', ''ok'', ''repeated'')' end);
  fits constant text := concat_ws(' and ', within, asked);
  -- Looked up in a table that is made once: of an array the planner would estimate each element.
  theirs constant text := '(r.deal_id in (select b.id from unnest($10) b (id))
    or r.user_id = $11 and (r.deal_id is null or r.deal_id in (select s.id from unnest($12) s (id))))';
  latest constant text := 'order by r.at desc, r.id desc limit ';
  -- One kind after the other by the index: of kinds there are a few, of acts perhaps millions.
  answer constant text := case when by_kind then 'with recursive kinds (action) as (
      (select r.action collate "C" from public.audit_records r
        where r.brokerage_id = $1 and r.action not like ''tool:%%'' and r.action collate "C" >= $3 order by r.action collate "C" limit 1)
      union all
      select (select r.action collate "C" from public.audit_records r
        where r.brokerage_id = $1 and r.action not like ''tool:%%'' and r.action collate "C" > k.action order by r.action collate "C" limit 1)
      from kinds k where starts_with(k.action, $3))
    select r.id from kinds k cross join lateral (%s) r where starts_with(k.action, $3) %s $9' else 'select r.id from (%s) r' end;
  found text;
begin
  if me is null then
    return;
  end if;
  if brokerage = any (app.brokerages_as('admin')) then
    found := format('select r.id, r.at from public.audit_records r where %s %s $9', concat_ws(' and ', fits, kind), latest);
    return query execute format(answer, found, latest)
      using brokerage, by_user, beginning, done, since, before, after_at, after_id, most;
    return;
  end if;
  -- Those of the brokerage that the caller runs, and all in which they take part.
  select coalesce(array_agg(o.deal_id) filter (where o.role = 'broker'), '{}'), coalesce(array_agg(o.deal_id), '{}') into brokered, seen
    from vault.deals_of_people o
    where o.user_id = me and o.organization_id = brokerage and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed);
  if brokered = '{}' then
    -- Only what they did themselves: by their own index, fenced so that no other is chosen. What others did in the brokerage is not read, so that nothing takes longer for it.
    return query execute format('select r.id from (select r.* from public.audit_records r where r.user_id = $11 and %s order by r.at desc, r.id desc offset 0) r
        where r.brokerage_id = $1 and %s and (r.deal_id is null or r.deal_id in (select s.id from unnest($12) s (id))) %s $9', span, asked, latest)
      using brokerage, by_user, beginning, done, since, before, after_at, after_id, most, brokered, me, seen;
    return;
  end if;
  fivefold := 5 * cardinality(brokered);
  is_rare := by_kind and (select count(*) from (
    select from public.audit_records r
    where r.brokerage_id = brokerage and r.action not like 'tool:%' and r.action collate "C" >= beginning and r.action collate "C" < beginning || chr(1114111) limit 2000) r) < 2000;
  if refused or is_rare or (select count(*) from (select from public.deals d where d.organization_id = brokerage limit fivefold) d) < fivefold then
    found := format('select r.id, r.at from (select r.* from public.audit_records r where %s order by r.at desc, r.id desc offset 0) r
        where %s and %s %s $9', concat_ws(' and ', within, kind), asked, theirs, latest);
    return query execute format(answer, found, latest)
      using brokerage, by_user, beginning, done, since, before, after_at, after_id, most, brokered, me, seen;
    return;
  end if;
  return query execute format(
    'with latest as materialized (
       select d.id, r.at, r.id as record
       from public.deals d cross join lateral (select r.at, r.id from public.audit_records r where r.deal_id = d.id and %1$s %2$s 1) r
       where d.id = any ($10) and d.organization_id = $1),
     busiest as materialized (select l.id from latest l order by l.at desc, l.record desc limit $9)
     select f.id from (
       select r.id, r.at from busiest b cross join lateral (
         select r.id, r.at from public.audit_records r where r.deal_id = b.id and %1$s %2$s $9) r
       union
       (select r.id, r.at from public.audit_records r
         where r.user_id = $11 and (r.deal_id is null or r.deal_id = any ($12)) and %1$s %2$s $9)) f
     order by f.at desc, f.id desc limit $9', fits, latest)
    using brokerage, by_user, beginning, done, since, before, after_at, after_id, most, brokered, me, seen;
end
$function$;
GRANT EXECUTE ON FUNCTION app.audit_of_brokerage(uuid,uuid,text,boolean,timestamp with time zone,timestamp with time zone,timestamp with time zone,uuid,integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.authorizing_client(client_id uuid, redirect_uri text)
 RETURNS TABLE(redirect_matches boolean, works boolean, name text, registered_by text, registered_by_caller boolean, shared_with text, registered_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  person constant uuid := app.user_id();
  usable constant boolean := person is not null and app.client_works_for(client_id, person);
begin
  return query
    select app.redirect_uri_matches(c.redirect_uris, authorizing_client.redirect_uri), usable,
      case when usable then c.name end, case when usable then u.name end, coalesce(c.created_by = person, false),
      case when usable then b.name end, c.created_at
    from public.connected_clients c
    join public.users u on u.id = c.created_by
    left join public.brokerages b on b.id = c.brokerage_id
    where c.id = authorizing_client.client_id and c.metadata_url is null and c.deleted_at is null and not c.disabled;
end
$function$;
GRANT EXECUTE ON FUNCTION app.authorizing_client(uuid,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.awaited(of_table text, record uuid)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  case of_table
    when 'ndas' then
      return query
        select p.user_id from public.ndas n join public.participants p on p.id = n.participant_id and p.status = 'active' and p.role = 'buyer'
        where n.id = record and n.status = 'sent' and (n.expires_at is null or n.expires_at > app.now());
    when 'questions' then
      return query
        select p.user_id from public.questions q
        join public.participants p on p.deal_id = q.deal_id and p.role = 'seller' and p.status = 'active'
        where q.id = record and q.status = 'with_seller' and p.user_id is distinct from app.user_id() and app.is_buyer_still(q.participant_id);
    when 'closing_conditions' then
      return query
        select c.owner_user_id from public.closing_conditions c
        where c.id = record and c.status in ('open', 'in_progress') and c.owner_user_id is not null and c.owner_user_id is distinct from app.user_id();
  end case;
end
$function$;

CREATE OR REPLACE FUNCTION app.backup_status(of_brokerage uuid)
 RETURNS TABLE(last_success_at timestamp with time zone, last_failure_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return;
  end if;
  return query
    select b.last_success_at, b.last_failure_at from (select) one left join app.job_runs b on b.job = 'backup';
end
$function$;
GRANT EXECUTE ON FUNCTION app.backup_status(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.barred_in(identity text)
 RETURNS uuid[]
 LANGUAGE sql
 IMMUTABLE
RETURN COALESCE((string_to_array(NULLIF(split_part(identity, ','::text, 7), ''::text), ' '::text))::uuid[], '{}'::uuid[]);

CREATE OR REPLACE FUNCTION app.barring_brokerage_of(of_table text, record uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (select d.organization_id from public.deals d
    where d.id = app.deal_of(of_table, record) and d.organization_id = any (app.barred_in(app.identity())));
end
$function$;
GRANT EXECUTE ON FUNCTION app.barring_brokerage_of(text,uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.begin_exclusivity()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if not (new.deal_id = any (app.deals_acting_as('broker')) or app.user_id() is null) then
    return new;  -- the policy refuses it, with the same answer as for a deal that does not exist
  end if;
  select p.user_id into new.buyer_user_id from public.participants p
    where p.id = new.participant_id and p.deal_id = new.deal_id and p.role = 'buyer' and p.status = 'active';
  if not found then
    perform app.refuse('not_an_active_buyer', 'Exclusivity is granted to an active buyer of the deal.');
  end if;
  if new.expires_at <= app.now() then
    perform app.refuse('expires_in_the_past', 'The exclusivity must end in the future.');
  end if;
  update public.exclusivities x set ended_at = x.expires_at
    where x.deal_id = new.deal_id and x.ended_at is null and x.expires_at <= app.now();
  if exists (select from public.exclusivities x where x.deal_id = new.deal_id and x.ended_at is null) then
    perform app.refuse('exclusivity_runs', 'A buyer already has exclusivity: release it first.');
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.begin_second_factor(session bytea, new_secret text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session_with_factor(session) r;
  if not found then
    return false;
  end if;
  insert into vault.totp (user_id, secret) values (this.user_id, new_secret)
    on conflict (user_id) do update set secret = excluded.secret where vault.totp.confirmed_at is null;
  if not found then
    perform app.refuse('second_factor_on', 'An authenticator is set up already: remove it before you set up another one.');
  end if;
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.begin_second_factor(bytea,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.begin_to_clear(storage_key text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  marked int;
begin
  lock table vault.legal_holds in row share mode;
  with simple as (
    update public.documents d set body_cleared_at = app.now()
      where d.storage_key = begin_to_clear.storage_key and d.removed_at < app.now() - interval '7 days' and d.body_cleared_at is null
        and not app.is_document_held(d.deal_id, d.uploaded_by) returning 1),
  production as (
    update public.production_documents d set body_cleared_at = app.now()
      where d.storage_key = begin_to_clear.storage_key and d.removed_at < app.now() - interval '7 days' and d.body_cleared_at is null
        and not app.is_document_held(d.deal_id, d.uploaded_by) returning 1)
  select count(*) into marked from (select from simple union all select from production) m;
  if marked > 0 then
    insert into vault.uploads (storage_key, begun_at) values (begin_to_clear.storage_key, app.now() - interval '3 days') on conflict do nothing;
  end if;
  return exists (select from vault.uploads u where u.storage_key = begin_to_clear.storage_key and u.begun_at < app.now() - interval '2 days');
end
$function$;
GRANT EXECUTE ON FUNCTION app.begin_to_clear(text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.begin_upload(deal_id uuid, storage_key text, of_table text DEFAULT NULL::text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if not deal_id = any (app.deals_acting_as('broker', 'seller', 'documents:write')) then
    return false;
  end if;
  perform app.refuse_if_closed(begin_upload.deal_id);
  -- What arrives meanwhile is counted once more when the document is added.
  if of_table in ('documents', 'production_documents') then
    perform app.refuse_if_full_today('public.' || of_table, 'uploaded_by', 'uploaded_at', 'documents', 1000, begin_upload.deal_id);
  end if;
  insert into vault.uploads (storage_key) values (begin_upload.storage_key);
  return true;
end $function$;
GRANT EXECUTE ON FUNCTION app.begin_upload(uuid,text,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.bodies_to_clear()
 RETURNS SETOF text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  (select u.storage_key from vault.uploads u where u.begun_at < app.now() - interval '2 days' and app.is_store_settled()
   union all
   select d.storage_key from (
       select s.storage_key, s.deal_id, s.uploaded_by from public.documents s
         where s.removed_at < app.now() - interval '7 days' and s.body_cleared_at is null
       union all
       select p.storage_key, p.deal_id, p.uploaded_by from public.production_documents p
         where p.removed_at < app.now() - interval '7 days' and p.body_cleared_at is null) d
     where app.is_store_settled() and not app.is_document_held(d.deal_id, d.uploaded_by))
  limit 500
$function$;
GRANT EXECUTE ON FUNCTION app.bodies_to_clear() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.body_cleared(storage_key text)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
  delete from vault.uploads u where u.storage_key = body_cleared.storage_key;
  update public.documents d set body_cleared_at = app.now()
    where d.storage_key = body_cleared.storage_key and d.removed_at is not null and d.body_cleared_at is null;
  update public.production_documents d set body_cleared_at = app.now()
    where d.storage_key = body_cleared.storage_key and d.removed_at is not null and d.body_cleared_at is null
$function$;
GRANT EXECUTE ON FUNCTION app.body_cleared(text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.books_in_sight(deal uuid, most_uploads integer, most_adjustments integer)
 RETURNS TABLE(digest text, partial boolean)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_seqscan TO 'off'
AS $function$
declare
  part constant text[] := string_to_array(app.identity(), ',');
  is_member boolean;
begin
  if coalesce(part[1], '') = '' or part[8] is distinct from deal::text then
    return;
  end if;
  is_member := part[12] in ('broker', 'seller') or deal = any (app.qoe_deals(false));
  digest := vault.digest_of_books(deal, is_member, most_uploads, most_adjustments);
  if digest is not null then
    partial := exists (select from public.accounting_snapshots s
      cross join lateral (select from public.pl_periods p where p.snapshot_id = s.id limit 1) p
      where is_member and s.deal_id = deal and s.status <> 'completed');
    return next;
  end if;
end
$function$;
GRANT EXECUTE ON FUNCTION app.books_in_sight(uuid,integer,integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.books_of_deals_run(deals uuid[], most_uploads integer, most_periods integer, most_adjustments integer)
 RETURNS TABLE(deal_id uuid, books text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  run constant uuid[] := app.deals_acting_as('broker');
begin
  return query
    select d.id, app.written_books(d.id, most_uploads, most_periods, 0, most_adjustments) from unnest(deals) d (id)
    where d.id = any (run) and app.user_id() is not null limit 100;
end
$function$;
GRANT EXECUTE ON FUNCTION app.books_of_deals_run(uuid[],integer,integer,integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.broker_of_new_deal(of_brokerage uuid, opener uuid, chosen uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  opens_as text;
begin
  perform from public.members m
    where m.brokerage_id = of_brokerage and m.user_id in (opener, chosen) order by m.user_id for share;
  select m.role into opens_as from public.members m
    where m.brokerage_id = of_brokerage and m.user_id = opener and m.status = 'active' and m.role in ('admin', 'broker');
  if opens_as is null and not exists (select from public.users u where u.id = opener and u.sandbox_id = of_brokerage) then
    raise insufficient_privilege using message = 'not an admin or broker of this brokerage';
  end if;
  if chosen = opener then
    return opener;
  end if;
  if opens_as is distinct from 'admin' then
    raise insufficient_privilege using message = 'only an admin opens a deal for another member';
  end if;
  if not exists (
    select from public.members m join public.users u on u.id = m.user_id and u.suspended_at is null
    where m.brokerage_id = of_brokerage and m.user_id = chosen and m.status = 'active' and m.role in ('admin', 'broker'))
  then
    perform app.refuse('not_a_broker', 'The broker of a new deal is an active admin or broker of the brokerage: choose one.');
  end if;
  return chosen;
end
$function$;

CREATE OR REPLACE FUNCTION app.brokerage_deletion(brokerage uuid)
 RETURNS TABLE(due_at timestamp with time zone, asked_at timestamp with time zone, asked_by text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select d.due_at, d.asked_at, coalesce(m.left_name, u.name) from vault.brokerage_deletions d
  left join public.users u on u.id = d.asked_by
  left join public.members m on m.brokerage_id = d.brokerage_id and m.user_id = d.asked_by
  where d.brokerage_id = brokerage and brokerage = any (app.brokerages_as('admin', 'broker', 'staff'))
$function$;
GRANT EXECUTE ON FUNCTION app.brokerage_deletion(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.brokerage_named(named text)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if named ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    return (select b.id from public.brokerages b where b.id = named::uuid and b.sandbox_of is null);
  end if;
  return (select b.id from public.brokerages b where b.slug = named and b.sandbox_of is null);
end
$function$;

CREATE OR REPLACE FUNCTION app.brokerage_of_grant(user_id uuid, client_id uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return coalesce(
    (select c.brokerage_id from public.connected_clients c where c.id = brokerage_of_grant.client_id),
    (select (array_agg(m.brokerage_id))[1] from public.members m
      where m.user_id = brokerage_of_grant.user_id and m.status = 'active' having count(*) = 1));
end
$function$;

CREATE OR REPLACE FUNCTION app.brokerage_of_key(key uuid)
 RETURNS uuid
 LANGUAGE sql
 STABLE
RETURN (SELECT CASE k.environment WHEN 'test'::text THEN (SELECT s.id FROM public.brokerages s WHERE (s.sandbox_of = k.brokerage_id)) ELSE k.brokerage_id END AS brokerage_id FROM public.api_keys k WHERE (k.id = brokerage_of_key.key));

CREATE OR REPLACE FUNCTION app.brokerage_to_delete(skipped uuid[])
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if not app.is_store_settled() then
    return null;
  end if;
  return (select d.brokerage_id from vault.brokerage_deletions d
    where d.due_at <= app.now() and d.brokerage_id <> all (skipped) and not exists (select from app.hold_on_brokerage(d.brokerage_id))
      and not exists (select from public.brokerages s join vault.brokerage_deletions o on o.brokerage_id = s.id where s.sandbox_of = d.brokerage_id)
    order by d.begun_at, d.due_at limit 1);
end
$function$;
GRANT EXECUTE ON FUNCTION app.brokerage_to_delete(uuid[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.brokerages_as(VARIADIC roles text[])
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  identity constant text := app.identity();
  caller constant uuid := nullif(split_part(identity, ',', 1), '');
  barred constant uuid[] := app.barred_in(identity);
begin
  return (
    select coalesce(array_agg(m.brokerage_id), '{}') from public.members m
    where m.user_id = caller and m.status = 'active' and m.role = any (roles) and not m.brokerage_id = any (barred));
end
$function$;
GRANT EXECUTE ON FUNCTION app.brokerages_as(text[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.brokerages_for(scope text)
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  of_key constant uuid := app.key_brokerage(scope);
begin
  return case when of_key is null then app.brokerages_as('admin', 'broker', 'staff') else array[of_key] end;
end
$function$;
GRANT EXECUTE ON FUNCTION app.brokerages_for(text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.brokerages_of_deals()
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_nestloop TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  identity constant text := app.identity();
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(identity);
  narrowed constant uuid := app.narrowed_to();
begin
  if current_setting('dealkeep.identity', true) like ',%' then
    return array_remove(array[nullif(split_part(identity, ',', 4), '')::uuid], null);
  elsif narrowed is not null then
    return array(select d.organization_id from public.deals d where d.id = narrowed and split_part(identity, ',', 12) <> '');
  end if;
  return array(
    select distinct o.organization_id from vault.deals_of_people o where o.user_id = me and o.organization_id <> all (barred));
end
$function$;
GRANT EXECUTE ON FUNCTION app.brokerages_of_deals() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.brokerages_of_notices(mail uuid, of_kind text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Mails are made by those who deliver them.');
  end if;
  return (
    select jsonb_agg(jsonb_build_object('id', b.id, 'name', b.name) order by b.name, b.id)
    from public.brokerages b
    where b.id in (
      select coalesce(k.brokerage_id, case when n.subject is null then n.subject_id end)
      from vault.outbox o
      join vault.notifications n on n.id in (select i::uuid from jsonb_array_elements_text(o.facts -> 'notifications') i)
        and n.user_id = o.recipient_id and n.kind = of_kind and n.deal_id is null
        and app.person_could_open(n.user_id, n.subject, n.subject_id, null)
      left join public.api_keys k on n.subject = 'api_keys' and k.id = n.subject_id
      where o.id = brokerages_of_notices.mail and o.kind = 'notifications'));
end
$function$;
GRANT EXECUTE ON FUNCTION app.brokerages_of_notices(uuid,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.calendar_link()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select l.created_at from vault.calendar_links l where l.user_id = app.user_id() and app.client_id() is null
$function$;
GRANT EXECUTE ON FUNCTION app.calendar_link() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.calling_key()
 RETURNS TABLE(id uuid, name text, environment text, last_four text, scopes text[], ceiling integer, expires_at timestamp with time zone, brokerage_id uuid, brokerage_name text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
BEGIN ATOMIC
 SELECT k.id,
     k.name,
     k.environment,
     k.last_four,
     COALESCE(string_to_array(app.identity_part(5), ' '::text), '{}'::text[]) AS "coalesce",
     k.ceiling,
     k.expires_at,
     b.id,
         CASE k.environment
             WHEN 'test'::text THEN (of_key.name || ' (sandbox)'::text)
             ELSE b.name
         END AS name
    FROM ((public.api_keys k
      JOIN public.brokerages of_key ON ((of_key.id = k.brokerage_id)))
      JOIN public.brokerages b ON ((b.id = (app.identity_part(4))::uuid)))
   WHERE (k.id = app.key_id());
END;
GRANT EXECUTE ON FUNCTION app.calling_key() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.cancel_brokerage_deletion(brokerage uuid, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if brokerage is null or not brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return false;
  end if;
  if not app.unmark_brokerage(brokerage, app.user_id()) then
    return null;
  end if;
  perform app.audit('brokerage.cancel_deletion', brokerage::text, 'done', brokerage, null, address, request_id, '{}');
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.cancel_brokerage_deletion(uuid,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.candidates(event vault.events)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if event.person_id is not null then
    return query select event.person_id;
  elsif event.subject = 'api_keys' then
    return query
      select m.user_id from public.api_keys k
      join public.members m on m.brokerage_id = k.brokerage_id and m.role = 'admin' and m.status = 'active'
      where k.id = event.subject_id;
  elsif event.kind = 'outside_broker' then
    return query
      select m.user_id from public.deals d
      join public.members m on m.brokerage_id = d.organization_id and m.role = 'admin' and m.status = 'active'
      where d.id = event.deal_id;
  elsif event.kind = 'broker_changed' then
    return query
      select p.user_id from public.participants p
      where p.deal_id = event.deal_id and p.status = 'active' and p.id <> event.subject_id;
  elsif event.kind in ('condition_due', 'condition_overdue') then
    return query
      select p.user_id from public.closing_conditions c
      join public.participants p on p.deal_id = c.deal_id and p.status = 'active'
        and (p.role = 'broker' or p.user_id = c.owner_user_id)
      where c.id = event.subject_id;
  elsif event.kind = 'question_returned' then
    return query
      select o.user_id from public.participants p
      join vault.deals_of_people o on o.user_id = p.user_id and o.deal_id = p.deal_id and o.side = 'broker'
      where p.deal_id = event.deal_id and p.status = 'active';
  elsif event.opened_from is not null then
    return query
      select o.user_id from public.participants p
      join vault.deals_of_people o on o.user_id = p.user_id and o.deal_id = p.deal_id
      where p.deal_id = event.deal_id and p.status = 'active'
        and app.document_opens_to(event.opened_from, o.deal_id, o.side, o.principal_id) is not true;
  else
    return query select p.user_id from public.participants p where p.deal_id = event.deal_id and p.status = 'active';
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION app.change_address(session bytea, token bytea, address inet, request_id text)
 RETURNS TABLE(old_email text, new_email text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  change vault.address_changes;
  old_address text;
  unused uuid;
begin
  -- The account first, as whoever sets a new password does, but not yet as for another address: who has a deal and names the account would wait for this, and this for the deal.
  perform from public.users u
    where u.id = (select l.user_id from vault.live_sessions l where l.digest = session) for no key update;
  delete from vault.address_changes a using vault.live_sessions l
    where l.digest = session and a.user_id = l.user_id and a.digest = token and a.expires_at > app.now()
    returning a.* into change;
  if not found then
    return;
  end if;
  -- An account that was only made for an invitation; whoever invites it or opens it meanwhile is waited for, or waits.
  select u.id into unused from public.users u where u.email = change.new_email for no key update;
  if found and not app.is_unused(unused) then
    perform app.refuse('address_taken', 'This address belongs to another account: choose another one.');
  end if;
  -- Invitations that wait were meant for whoever reads the old mailbox, which nobody here has shown to be theirs.
  if exists (select from vault.passwords p where p.user_id = change.user_id and p.address_proven_at is null) then
    perform from public.members m where m.user_id = change.user_id and m.status = 'invited' order by m.brokerage_id for no key update;
    perform app.lock_parts(change.user_id);
    update public.members m set status = 'removed' where m.user_id = change.user_id and m.status = 'invited';
    update public.participants p set status = 'removed' where p.user_id = change.user_id and p.status = 'invited';
  end if;
  if unused is not null then
    perform app.take_over_invitations(unused, change.user_id);
  end if;
  select u.email into old_address from public.users u where u.id = change.user_id;
  update public.users u set email = change.new_email where u.id = change.user_id;
  update vault.passwords p set address_proven_at = app.now() where p.user_id = change.user_id;
  delete from vault.password_resets r where r.user_id = change.user_id;
  perform app.record(change.user_id, 'address.change', 'done', null, address, request_id);
  perform app.queue_mail('address_changed', old_address, change.user_id, null, null, true,
    (select jsonb_build_object('name', u.name, 'new_email', u.email) from public.users u where u.id = change.user_id), null, null);
  return query select old_address, change.new_email;
end
$function$;
GRANT EXECUTE ON FUNCTION app.change_address(bytea,bytea,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.change_deals_of_people()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  deal uuid;
begin
  if tg_argv[0] = 'id' then
    deal := new.id;
  elsif tg_op = 'DELETE' then
    deal := old.deal_id;
  else
    deal := new.deal_id;
  end if;
  if tg_argv[0] = 'lock' then
    perform from public.deals d where d.id = deal for share;
  end if;
  update vault.deals_of_people o
    set title = p.title, industry = p.industry, location = p.location, asking_price = p.asking_price, state = p.state, closed_at = p.closed_at,
      created_at = p.created_at, updated_at = p.updated_at, stage = p.stage, stage_updated_at = p.stage_updated_at,
      holder_id = p.holder_id, buyer_user_id = p.buyer_user_id, granted_at = p.granted_at, expires_at = p.expires_at
    from vault.deals_of_parts p
    where p.deal_id = deal and o.user_id = p.user_id and o.deal_id = deal and o.* is distinct from p.*;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.change_ndas_of_people()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_op <> 'DELETE' then
    perform from public.deals d where d.id = new.deal_id for share;
  end if;
  if tg_op <> 'INSERT' then
    delete from vault.ndas_of_people o using public.participants p
      where p.deal_id = old.deal_id and coalesce(p.advises, p.id) = old.participant_id
        and o.user_id = p.user_id and o.deal_id = old.deal_id and o.nda_id = old.id;
  end if;
  if tg_op <> 'DELETE' then
    insert into vault.ndas_of_people
      select p.* from vault.ndas_of_parts p where p.deal_id = new.deal_id and p.nda_id = new.id order by p.user_id;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.change_password(session bytea, old_phc text, new_phc text, token bytea, address inet, request_id text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  this vault.live_sessions;
begin
  perform from public.users u
    where u.id = (select l.user_id from vault.live_sessions l where l.digest = session) for no key update;
  select l.* into this from vault.live_sessions l where l.digest = session;
  if not found then
    return null;
  end if;
  update vault.passwords p set phc = new_phc, changed_at = app.now() where p.user_id = this.user_id and p.phc = old_phc;
  if not found then
    perform app.record(this.user_id, 'password.change', 'refused', null, address, request_id);
    return 'refused';
  end if;
  perform app.renew_session(this.id, token);
  perform app.end_sessions_of(this.user_id, token);
  delete from vault.password_resets r where r.user_id = this.user_id;
  perform app.notify_security_change(this.user_id, 'password_changed');
  perform app.record(this.user_id, 'password.change', 'done', null, address, request_id);
  return 'done';
end
$function$;
GRANT EXECUTE ON FUNCTION app.change_password(bytea,text,text,bytea,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.change_stream()
 RETURNS TABLE(published bigint, history uuid, waits_since timestamp with time zone)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select s.published, s.history, s.mark_at from vault.change_stream s
$function$;
GRANT EXECUTE ON FUNCTION app.change_stream() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.change_webhook(endpoint uuid, url text, description text, types text[], state text, address inet, request_id text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  now constant timestamptz := app.now();
  this public.webhook_endpoints;
begin
  perform app.hold_webhook_admins();
  this := app.webhook_to_manage(endpoint);
  if app.key_id() is null and change_webhook.url <> this.url then
    perform app.check_recent_sign_in();
  end if;
  if this.state = 'off' and change_webhook.state = 'on' then
    perform app.check_webhooks_on(this.key_id);
  end if;
  update public.webhook_endpoints e set url = coalesce(change_webhook.url, e.url),
      description = case when change_webhook.description is null then e.description else nullif(change_webhook.description, '') end,
      types = case when change_webhook.types is null then e.types when change_webhook.types = '{}' then null else change_webhook.types end,
      state = coalesce(change_webhook.state, e.state),
      off_reason = case coalesce(change_webhook.state, e.state) when 'off' then coalesce(e.off_reason, 'asked') end,
      off_because = case coalesce(change_webhook.state, e.state) when 'off' then e.off_because end,
      off_since = case coalesce(change_webhook.state, e.state) when 'off' then coalesce(e.off_since, now) end,
      created_by = case when change_webhook.url <> e.url or (e.state = 'off' and change_webhook.state = 'on') then app.user_id() else e.created_by end,
      failures = 0, rests_until = null, updated_at = now,
      -- Whoever has claimed it sets when something is due as they are done.
      send_at = case when e.claimed_until > now then e.send_at else now end,
      queue_at = case when e.state = 'off' then now else e.queue_at end
    where e.id = this.id;
  if (this.state = 'off' and change_webhook.state = 'on') or change_webhook.url <> this.url then
    -- Three days from now on, not from when it first failed.
    update public.webhook_deliveries d set first_attempt_at = null, attempts_before = d.attempts, next_attempt_at = case when not exists (
          select from public.webhook_deliveries o where o.endpoint_id = d.endpoint_id and o.object_id = d.object_id and o.state = 'waiting' and o.nr < d.nr)
        then now end
      where d.endpoint_id = this.id and d.state = 'waiting';
    perform pg_notify('dealkeep_mail', '');
  end if;
  perform app.audit('webhook.update', this.id::text, 'done', this.brokerage_id, null, address, request_id,
    jsonb_strip_nulls(jsonb_build_object('state', change_webhook.state, 'changed', nullif(to_jsonb(array_remove(array[
        case when change_webhook.url <> this.url then 'url' end,
        case when nullif(coalesce(change_webhook.description, this.description), '') is distinct from this.description then 'description' end,
        case when change_webhook.types is not null and nullif(change_webhook.types, '{}') is distinct from this.types then 'types' end], null)), '[]'))
      || case when change_webhook.url <> this.url then jsonb_build_object('host_before', app.host_of(this.url), 'host', app.host_of(change_webhook.url)) else '{}' end));
end
$function$;
GRANT EXECUTE ON FUNCTION app.change_webhook(uuid,text,text,text[],text,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.changes_after(after bigint, most integer, types text[])
 RETURNS TABLE(seq bigint, id uuid, type text, object_type text, object_id uuid, deal_id uuid, at timestamp with time zone, history uuid, more boolean)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  brokerage constant uuid := app.identity_part(4)::uuid;
  among constant text := coalesce(current_setting('dealkeep.among_deals', true), '');
  -- PostgreSQL compares columns before it asks the policy, but not what is put together of them.
  kinds constant text[] := (select array_agg(distinct split_part(one, '.', 1)) from unnest(types) one);
  changes constant text[] := (select array_agg(distinct split_part(one, '.', 2)) from unnest(types) one);
  place bigint;
  last bigint;
  reach bigint;
  room int := most;
begin
  select s.published, s.history into last, history from app.change_stream() s;
  place := coalesce(after, last);
  for look in 1..20 loop
    exit when brokerage is null or room <= 0 or place >= last;
    -- Most often the first few are what is asked for.
    reach := app.reach_of_look(place, case look when 1 then 4 * most when 2 then least(40 * most, 10000) else 10000 end, last);
    if among = '' then
      perform set_config('dealkeep.among_deals', app.deals_of_look(place, reach, kinds)::text, true);
    end if;
    for seq, id, type, object_type, object_id, deal_id, at in
      select e.seq, e.id, e.object_type || '.' || e.change, e.object_type, e.object_id, e.about_deal, e.at from public.change_events e
      where e.brokerage_id = brokerage and e.seq > place and e.seq <= reach
        and (kinds is null or e.object_type = any (kinds)) and (changes is null or e.change = any (changes))
        and (types is null or e.object_type || '.' || e.change = any (types))
      order by e.seq limit room
    loop
      room := room - 1;
      place := seq;
      return next;
    end loop;
    if room > 0 then
      place := reach;
    end if;
  end loop;
  perform set_config('dealkeep.among_deals', among, true);
  seq := place;
  at := app.now();
  more := place < last;
  id := null;
  type := null;
  object_type := null;
  object_id := null;
  deal_id := null;
  return next;
end
$function$;
GRANT EXECUTE ON FUNCTION app.changes_after(bigint,integer,text[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.changes_purged()
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (select p.seq from vault.purged_changes p where p.brokerage_id = app.identity_part(4)::uuid);
end
$function$;
GRANT EXECUTE ON FUNCTION app.changes_purged() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.check_acceptance()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if new.user_id is distinct from app.user_id() and app.user_id() is not null then
    perform app.refuse('not_yours_to_accept', 'Only the person invited can accept an invitation.');
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.check_accepted_offer()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  offer public.offers;
begin
  select o.* into offer from public.offers o where o.id = new.offer_id and o.is_current for share;
  if not found then
    perform app.refuse('offer_superseded', 'The buyer has revised this offer since: look at the latest one.');
  end if;
  if app.has_caller() then
    perform app.refuse_if_expired(offer);
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.check_advised()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if new.advises = new.id
    or exists (select from public.participants p
      where p.id = new.advises and p.deal_id = new.deal_id and p.role = 'advisor')
    or exists (select from public.participants p where p.advises = new.id and p.status <> 'removed')
  then
    perform app.refuse('advisor_of_advisor', 'An advisor advises a broker, seller, buyer or viewer, not another advisor.');
  end if;
  if new.status = 'invited' and exists (select from public.participants p where p.id = new.advises and p.status = 'removed') then
    perform app.refuse('advised_removed', 'The person they would advise is no longer on this deal: invite that person first.');
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.check_client_count()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform from public.users u where u.id = new.created_by for no key update;
  if (select count(*) from public.connected_clients c where c.created_by = new.created_by and c.deleted_at is null) >= 50 then
    perform app.refuse('too_many_clients', 'You have 50 clients, which is the limit: delete one that you no longer use.');
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.check_condition_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.user_id() is null or new.deal_id = any (app.deals_acting_as('broker')) then
    return new;
  end if;
  if (new.name, new.owner_user_id, new.deadline) is distinct from (old.name, old.owner_user_id, old.deadline) then
    perform app.refuse('broker_only', 'Only a broker of the deal can change the text, owner or due date of a condition.');
  end if;
  if new.status <> old.status and 'waived' in (new.status, old.status) then
    perform app.refuse('broker_only', 'Only a broker of the deal can waive a condition or undo that.');
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.check_key_admin(brokerage_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.client_id() is not null or brokerage_id is null or not brokerage_id = any (app.brokerages_as('admin')) then
    perform app.refuse('not_an_admin', 'API keys are managed by the admins of the brokerage, signed in to the web application.');
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION app.check_move()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  earlier text := to_jsonb(old) ->> tg_argv[1];
  later text := to_jsonb(new) ->> tg_argv[1];
  allowed text;
begin
  if earlier = later or exists (
    select from app.moves m where m.subject = tg_argv[0] and m.from_state = earlier and m.to_state = later)
  then
    return new;
  end if;
  select string_agg(m.to_state, ', ' order by m.to_state) into allowed
    from app.moves m where m.subject = tg_argv[0] and m.from_state = earlier;
  perform app.refuse('move_not_allowed', format('%s cannot go from %s to %s. From %s it can go to: %s.',
    case tg_argv[0] when 'nda' then 'An NDA' else 'A ' || replace(tg_argv[0], '_', ' ') end, earlier, later, earlier, coalesce(allowed, 'nothing')));
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.check_not_barred()
 RETURNS void
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  -- Or one has come to ask for a factor since this person entered.
  if app.barred_in(app.identity()) <> '{}' or (not app.has_shown_factor() and app.owes_factor(app.user_id())) then
    perform app.refuse_without_factor(app.user_id());
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION app.check_owner_takes_part()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  reader uuid;
  owner_role text;
begin
  if new.owner_user_id is null or (tg_op = 'UPDATE' and new.owner_user_id is not distinct from old.owner_user_id) then
    return new;
  end if;
  select p.role into owner_role from public.participants p
    where p.deal_id = new.deal_id and p.user_id = new.owner_user_id and p.status = 'active'
      and (p.advises is null or exists (select from public.participants a where a.id = p.advises and a.status = 'active'));
  if not found then
    perform app.refuse('owner_takes_no_part', 'The owner must be an active participant of the deal, and so must whom they advise.');
  end if;
  if tg_table_name = 'closing_conditions' and app.has_caller() and owner_role = 'viewer' then
    perform app.refuse('owner_is_viewer',
      'A viewer cannot report progress on a condition: choose a broker, the seller, the buyer or one of their advisors.');
  end if;
  if tg_table_name = 'findings' and app.has_caller() and not exists (
    select from public.participants p
    left join public.participants advised on advised.id = p.advises
    where p.deal_id = new.deal_id and p.user_id = new.owner_user_id and p.status = 'active'
      and app.finding_opens_to(coalesce(advised.role, p.role), coalesce(p.advises, p.id),
        (to_jsonb(new) ->> 'participant_id')::uuid || case when tg_op = 'INSERT' then app.principals() end))
  then
    perform app.refuse('owner_cannot_open_finding',
      'This person cannot open the finding: choose a broker, the seller, one of their advisors or somebody of your own side.');
  end if;
  reader := case when tg_table_name = 'closing_conditions' then app.selected_side(new.deal_id)
    else (to_jsonb(new) ->> 'participant_id')::uuid end;
  if app.has_caller() and reader is not null and not app.side_knows(reader, new.owner_user_id) then
    perform app.refuse('owner_not_known_to_buyer',
      'The buyer who reads this may not know of this person: choose a broker, somebody of the buyer''s side or, under an NDA, the seller.');
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.check_payload(payload jsonb)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  expires constant text := nullif(payload ->> 'expires_at', '');
  closes constant text := nullif(payload ->> 'target_close_date', '');
begin
  if app.payload_size(payload) > 32768 then
    perform app.refuse_value('payload', 'An offer can have at most 32 KB: put longer text in a document.');
  end if;
  if expires is not null and coalesce(app.time_in(expires) <= app.now(), true) then
    perform app.refuse_value('payload.expires_at', 'An offer stands until a time that is still to come: choose one, or leave it open.');
  end if;
  if closes is not null and coalesce(app.end_of(app.day_in(closes)) <= app.now(), true) then
    perform app.refuse_value('payload.target_close_date', 'Choose a day that is still to come, or leave it open.');
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION app.check_question_mover()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  is_broker boolean := new.deal_id = any (app.deals_acting_as('broker'));
  is_seller boolean := new.deal_id = any (app.deals_acting_as('seller'));
begin
  if app.user_id() is null then
    return new;  -- the owner, loading data
  end if;
  if (new.distributed_response, new.rejection_reason) is distinct from (old.distributed_response, old.rejection_reason)
    and not is_broker
  then
    perform app.refuse('broker_only', 'Only a broker of the deal can write the response to the person who asked.');
  end if;
  if new.status is distinct from old.status then
    if new.status in ('with_seller', 'rejected', 'distributed') and not is_broker then
      perform app.refuse('broker_only', 'Only a broker of the deal can release, reject or distribute a question.');
    elsif new.status = 'answered' and not is_seller then
      perform app.refuse('seller_only', 'Only a seller of the deal can answer a question.');
    elsif new.status = 'withdrawn' and new.asked_by is distinct from app.user_id() then
      perform app.refuse('asker_only', 'Only the person who asked can withdraw a question.');
    end if;
    if new.status = 'with_seller' and not app.has_seller(new.deal_id) then
      perform app.refuse('no_seller', 'No seller is on this deal to answer: invite one, who must accept first.');
    elsif new.status = 'pending_broker_review' and app.has_seller(new.deal_id) then
      perform app.refuse('seller_answers', 'A seller of the deal can answer this question.');
    end if;
    if new.status = 'answered' and not exists (select from public.question_answers a where a.question_id = new.id) then
      perform app.refuse('answer_missing', 'Write the answer first.');
    end if;
    if new.status = 'distributed' then
      if new.distributed_response is null then
        perform app.refuse('response_missing', 'Write a response to the person who asked.');
      end if;
      new.distributed_at := app.now();
    end if;
  elsif old.status in ('distributed', 'rejected', 'withdrawn') then
    perform app.refuse('question_closed', format('The question is %s and no longer changes.', old.status));
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.check_recent_sign_in()
 RETURNS void
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.user_id() is not null and not app.recently_signed_in() then
    perform app.refuse('recent_sign_in_required', 'Confirm that it is you: sign in again, then repeat this.');
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION app.check_repeated_step()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.user_id() is null then
    return new;  -- the owner, loading data
  end if;
  -- A step that was made already is nobody else's to make again.
  if new.status = 'with_seller' and not new.deal_id = any (app.deals_acting_as('broker')) then
    perform app.refuse('broker_only', 'Only a broker of the deal can release, reject or distribute a question.');
  elsif new.status = 'answered' and not new.deal_id = any (app.deals_acting_as('seller')) then
    perform app.refuse('seller_only', 'Only a seller of the deal can answer a question.');
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.check_room_of_sandbox(sandbox uuid, of_table text, most integer, what text, bytes bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  held int;
  size numeric;
begin
  case of_table
    when 'contacts' then select count(*) into held from public.contacts c where c.brokerage_id = sandbox;
    when 'deals' then select count(*) into held from public.deals d where d.organization_id = sandbox;
    else execute format('select count(*), %s from public.deals d join public.%I t on t.deal_id = d.id where d.organization_id = $1',
      case when bytes is null then 'null' else 'sum(t.size_bytes)' end, of_table) into held, size using sandbox;
  end case;
  if held > most or size > bytes then
    perform app.refuse('sandbox_full', format('The sandbox is full: at most %s %s%s. Reset it.', to_char(most, 'FM999,999'), what,
      case when size > bytes then format(' of %s MB together', bytes / 1000000) end));
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION app.check_second_factor()
 RETURNS void
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  asking text;
begin
  if app.barred_in(app.identity()) <> '{}' then
    select string_agg(o.brokerage_name, ', ') into asking from app.second_factor_owed() o;
    perform app.refuse('second_factor_required', format('A second factor is required by: %s.', asking));
  end if;
end
$function$;
GRANT EXECUTE ON FUNCTION app.check_second_factor() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.check_until(until timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if until <= app.now() then
    perform app.refuse('ends_in_the_past', 'Choose an end in the future, or none.');
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION app.check_webhooks_on(of_key uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  brokerage constant uuid := app.brokerage_of_key(of_key);
begin
  -- One after the other, so that all are counted.
  perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('webhooks ' || brokerage, 0));
  if 200 <= (select count(*) from public.webhook_endpoints e
    where e.brokerage_id = brokerage and e.state = 'on' and e.queue_at is distinct from 'infinity'::timestamptz and not app.has_key_ended(e.key_id))
  then
    perform app.refuse('too_many_webhooks_on', 'The brokerage has 200 webhooks that are on, which is the limit: turn one off or remove one first.');
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION app.check_workspace_member()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  side text;
  principal uuid;
begin
  if not new.deal_id = any (app.deals_acting_as('broker')) then
    return new;  -- the owner, loading data; anybody else is turned away by the policy
  end if;
  select coalesce(advised.role, p.role), coalesce(advised.id, p.id) into side, principal
    from public.participants p
    left join public.participants advised on advised.id = p.advises
    where p.id = new.participant_id and p.deal_id = new.deal_id and p.status = 'active' and p.role not in ('broker', 'seller');
  if not found then
    perform app.refuse('not_to_let_in', 'Only active buyers, advisors and viewers of the deal can be added; brokers and sellers already have access.');
  end if;
  if side = 'buyer' then
    -- Whoever ends the NDA meanwhile is waited for, or waits and finds the place.
    perform from public.ndas n where n.participant_id = principal and n.status = 'active' for share;
    if not exists (select from vault.active_ndas n where n.participant_id = principal) then
      perform app.refuse('no_active_nda', 'The buyer has no active NDA: have it signed first.');
    end if;
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.choose_deal_notification(deal uuid, chosen text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.user_id() is null or app.client_id() is not null or app.seen_deal(deal) is null then
    return false;
  end if;
  if chosen is null then
    delete from vault.deal_notification_choices c where c.user_id = app.user_id() and c.deal_id = deal;
  else
    insert into vault.deal_notification_choices (user_id, deal_id, delivery) values (app.user_id(), deal, chosen)
      on conflict (user_id, deal_id) do update set delivery = excluded.delivery;
  end if;
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.choose_deal_notification(uuid,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.choose_notification(of_kind text, chosen text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.user_id() is null or app.client_id() is not null then
    perform app.refuse('not_a_person', 'Sign in to choose your notifications.');
  end if;
  if chosen = 'off' and (select k.security from app.notification_kinds k where k.kind = of_kind) then
    perform app.refuse('security_stays', 'Notifications about the security of your account cannot be turned off. You can choose to get them only in the application.');
  end if;
  insert into vault.notification_choices (user_id, kind, delivery) values (app.user_id(), of_kind, chosen)
    on conflict (user_id, kind) do update set delivery = excluded.delivery;
end
$function$;
GRANT EXECUTE ON FUNCTION app.choose_notification(text,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.claim_deliveries(most integer, most_slow integer DEFAULT 100)
 RETURNS TABLE(endpoint_id uuid, claim uuid, url text, is_slow boolean, failures integer, secret_ids uuid[], secrets text[], id uuid, seq bigint, event_id uuid, type text, object_type text, object_id uuid, about_deal uuid, occurred_at timestamp with time zone, attempts integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_column
declare
  now constant timestamptz := app.now();
  taken constant uuid := gen_random_uuid();
  room int := least(most, 100);
  room_for_slow int := most_slow;
  candidate record;
  in_force boolean;
  this public.webhook_endpoints;
  few uuid[];
begin
  for candidate in
    -- Who has waited longest comes first. What was claimed last is the last when it is noted, so that none comes before others, however much it has to take.
    select e.id, e.key_id, e.is_slow from public.webhook_endpoints e
    where e.state = 'on' and e.send_at <= now and (not e.is_slow or most_slow > 0)
      and e.brokerage_id <> all (array(select o.brokerage_id from public.webhook_endpoints o
        where o.claim is not null and o.claimed_until > now group by o.brokerage_id having count(*) >= 8))
      and (not e.is_slow or e.brokerage_id <> all (array(select o.brokerage_id from public.webhook_endpoints o
        where o.claim is not null and o.claimed_until > now and o.is_slow group by o.brokerage_id having count(*) >= 4)))
    order by e.send_at limit 1000
  loop
    exit when room <= 0;
    continue when candidate.is_slow and room_for_slow <= 0;
    in_force := app.is_key_in_force(candidate.key_id);
    select e.* into this from public.webhook_endpoints e
      -- Another node may have noted a failure since it was looked for.
      where e.id = candidate.id and e.state = 'on' and e.send_at <= now and (e.rests_until is null or e.rests_until <= now) and (e.claimed_until is null or e.claimed_until <= now)
        and 8 > (select count(*) from public.webhook_endpoints o where o.brokerage_id = e.brokerage_id and o.claim is not null and o.claimed_until > now)
        and (not e.is_slow or 4 > (select count(*) from public.webhook_endpoints o
          where o.brokerage_id = e.brokerage_id and o.claim is not null and o.claimed_until > now and o.is_slow))
      for no key update skip locked;
    continue when this.id is null;
    if not in_force then
      update public.webhook_endpoints e set send_at = case when not app.has_key_ended(e.key_id) then now + interval '10 minutes' end where e.id = this.id;
      continue;
    end if;
    few := case when this.failures >= 5 or this.failed_in_a_row >= 5 and this.rests_until is not null then app.deliveries_to_try(this.id, this.succeeded_at) end;
    return query
      select this.id, taken, this.url, this.is_slow, this.failures, s.ids, s.secrets, d.id, d.seq, d.event_id, d.type, d.object_type, d.object_id, d.about_deal, d.occurred_at, d.attempts
      from (select array_agg(k.id order by k.created_at desc, k.id) as ids, array_agg(k.secret order by k.created_at desc, k.id) as secrets
        from vault.webhook_secrets k where k.endpoint_id = this.id and (k.ends_at is null or k.ends_at > now)) s
      cross join (
        (select w.* from public.webhook_deliveries w
          where few is null and w.endpoint_id = this.id and w.state = 'waiting' and w.next_attempt_at <= now
          order by w.next_attempt_at, w.nr limit 50)
        union all
        select w.* from public.webhook_deliveries w where w.id = any (few)) d
      order by d.nr;
    if not found then
      update public.webhook_endpoints e set send_at = app.next_attempt_of_webhook(e.id) where e.id = this.id;
      continue;
    end if;
    update public.webhook_endpoints e set claim = taken, claimed_until = now + interval '1 minute', send_at = now + interval '1 minute' where e.id = this.id;
    room := room - 1;
    room_for_slow := room_for_slow - this.is_slow::int;
  end loop;
end
$function$;
GRANT EXECUTE ON FUNCTION app.claim_deliveries(integer,integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.claim_idempotency_key(idempotency_key text, body_digest bytea)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  caller constant uuid := app.key_id();
  now constant timestamptz(3) := app.now();
begin
  if caller is null then
    return;
  end if;
  insert into vault.idempotency_keys as kept (key_id, idempotency_key, body_digest, made_at)
  values (caller, claim_idempotency_key.idempotency_key, claim_idempotency_key.body_digest, now)
  on conflict on constraint idempotency_keys_pkey do update
    set body_digest = excluded.body_digest, contact_id = null, answer = null, made_at = excluded.made_at
    where kept.made_at <= now - interval '24 hours';
  if not found then
    perform app.refuse('idempotency_key_used', 'This Idempotency-Key was used within the last 24 hours.');
  end if;
  delete from vault.idempotency_keys k using (
    select o.key_id, o.idempotency_key from vault.idempotency_keys o
    where o.made_at <= now - interval '24 hours' order by o.made_at limit 5 for update skip locked) o
  where k.key_id = o.key_id and k.idempotency_key = o.idempotency_key;
end
$function$;
GRANT EXECUTE ON FUNCTION app.claim_idempotency_key(text,bytea) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.claim_mails(most integer)
 RETURNS TABLE(id uuid, kind text, recipient text, brokerage_name text, deal_id uuid, facts jsonb, secret text, attempts integer, created_at timestamp with time zone)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  -- A statement that runs into its limit takes back what it has deleted, and would find the same again.
  until constant timestamptz := statement_timestamp() + nullif(current_setting('statement_timeout')::interval, '0') / 4;
  room constant int := least(most, 100);
  part record;
  candidate uuid;
  this vault.outbox;
  some_dead boolean;
  chosen uuid[] := '{}';
begin
  -- What has its turn, by rank, then what is before its turn, as its brokerage has much to send; daily mails come last.
  <<parts>>
  for part in
    select p.rank, p.early from (values (1, 0, false), (2, 1, false), (3, 0, true), (4, 1, true), (5, 2, false), (6, 2, true)) p (place, rank, early) order by p.place
  loop
    loop
      some_dead := false;
      -- Some more than are looked for: others may be claiming the first ones, and where one is dead many are.
      for candidate in select app.mails_in_turn(part.rank, part.early, room + 100) loop
        exit parts when cardinality(chosen) >= room;
        continue when candidate = any (chosen);
        select o.* into this from vault.outbox o
          where o.id = candidate and o.sent_at is null and o.given_up_at is null and o.next_attempt_at <= app.now()
            and (o.claimed_until is null or o.claimed_until <= app.now())
          for update skip locked;
        continue when this.id is null;
        if app.is_needed(this) then
          chosen := chosen || this.id;
        else
          delete from vault.outbox o where o.id = this.id;
          some_dead := true;
        end if;
      end loop;
      exit parts when cardinality(chosen) >= room or clock_timestamp() > until;
      exit when not some_dead;
    end loop;
  end loop;
  return query
    with claimed as (
      -- A claim that ends without an outcome is tried again when others are.
      update vault.outbox o set claimed_until = app.now() + interval '5 minutes', attempts = o.attempts + 1, turn_at = least(o.turn_at, app.now())
      where o.id = any (chosen)
      returning o.*
    )
    select c.id, c.kind, c.recipient, b.name, c.deal_id, c.facts, c.secret, c.attempts, c.created_at
    from claimed c left join public.brokerages b on b.id = c.brokerage_id
    order by array_position(chosen, c.id);
end
$function$;
GRANT EXECUTE ON FUNCTION app.claim_mails(integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.claim_tool_call_key(tool text, idempotency_key text, input_digest bytea)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  now constant timestamptz(3) := app.now();
begin
  if app.user_id() is null or app.client_id() is null then
    return;
  end if;
  insert into vault.tool_call_keys as kept (user_id, client_id, tool, idempotency_key, input_digest, made_at)
  values (app.user_id(), app.client_id(), claim_tool_call_key.tool, claim_tool_call_key.idempotency_key,
    claim_tool_call_key.input_digest, now)
  on conflict on constraint tool_call_keys_pkey do update
    set input_digest = excluded.input_digest, answer = null, made_at = excluded.made_at
    where kept.made_at <= now - interval '24 hours';
  if not found then
    perform app.refuse('idempotency_key_used', 'This key was used for this tool within the last 24 hours.');
  end if;
  delete from vault.tool_call_keys k using (
    select o.user_id, o.client_id, o.tool, o.idempotency_key from vault.tool_call_keys o
    where o.made_at <= now - interval '24 hours' order by o.made_at limit 5 for update skip locked) o
  where k.user_id = o.user_id and k.client_id = o.client_id and k.tool = o.tool and k.idempotency_key = o.idempotency_key;
end
$function$;
GRANT EXECUTE ON FUNCTION app.claim_tool_call_key(text,text,bytea) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.clear_addresses()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  erased vault.addresses_to_clear;
  reach timestamptz;
  cleared int;
begin
  select c.* into erased from vault.addresses_to_clear c order by c.user_id limit 1 for update skip locked;
  if not found then
    return 0;
  end if;
  reach := (
    select a.at from public.audit_records a where a.user_id = erased.user_id and a.at <= erased.before order by a.at desc offset 9999 limit 1);
  update public.audit_records a set address = null
    where a.user_id = erased.user_id and a.at <= erased.before and a.at >= coalesce(reach, '-infinity') and a.address is not null;
  get diagnostics cleared = row_count;
  if reach is null and (cleared >= 10000 or app.clear_addresses_of_keys(array[erased.user_id], 10000 - cleared) >= 10000 - cleared) then
    -- Of their own none is left.
    update vault.addresses_to_clear c set before = '-infinity' where c.user_id = erased.user_id;
  elsif reach is null then
    delete from vault.addresses_to_clear c where c.user_id = erased.user_id;
  else
    -- All of that moment are cleared, however many there were.
    update vault.addresses_to_clear c set before = reach - interval '1 microsecond' where c.user_id = erased.user_id;
  end if;
  return 1;
end
$function$;
GRANT EXECUTE ON FUNCTION app.clear_addresses() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.clear_addresses_of_keys(people uuid[], most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  key uuid;
  reach timestamptz;
  part int;
  cleared int := 0;
begin
  for key in
    select k.id from public.api_keys k
    where k.created_by = any (people)
      and not exists (select from vault.api_key_digests d where d.key_id = k.id and d.issued_by <> k.created_by)
    order by k.id
  loop
    exit when cleared >= most;
    reach := (select a.at from public.audit_records a where a.key_id = key and a.address is not null order by a.at offset most - cleared - 1 limit 1);
    update public.audit_records a set address = null where a.key_id = key and a.address is not null and a.at <= coalesce(reach, 'infinity');
    get diagnostics part = row_count;
    cleared := cleared + part;
  end loop;
  return cleared;
end
$function$;

CREATE OR REPLACE FUNCTION app.clear_answers_about(records uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  update public.webhook_deliveries d set answer = null where d.id = any (array(
    select w.id from public.webhook_deliveries w where w.answer is not null and w.object_id = any (records)
    order by w.id for no key update));
end
$function$;

CREATE OR REPLACE FUNCTION app.clear_traces(people uuid[], since timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  delete from vault.notification_settings s where s.user_id = any (people);
  delete from vault.notification_choices s where s.user_id = any (people);
  delete from vault.deal_notification_choices s where s.user_id = any (people);
  delete from vault.own_activity a where a.user_id = any (people);
  delete from public.answer_readings a where a.user_id = any (people);
  update public.audit_records a set address = null where a.user_id = any (people) and a.at >= since and a.address is not null;
end
$function$;

CREATE OR REPLACE FUNCTION app.client_id()
 RETURNS uuid
 LANGUAGE sql
 STABLE
RETURN (app.identity_part(2))::uuid;
GRANT EXECUTE ON FUNCTION app.client_id() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.client_is_by_document(client_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (select from public.connected_clients c
    where c.id = client_is_by_document.client_id and c.metadata_url is not null);
end
$function$;

CREATE OR REPLACE FUNCTION app.client_lives(client_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (select from public.connected_clients c
    where c.id = client_lives.client_id and c.deleted_at is null and not c.disabled);
end
$function$;

CREATE OR REPLACE FUNCTION app.client_of_grant(url text, presented bytea)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (select c.id from public.connected_clients c where c.metadata_url = client_of_grant.url and c.id = coalesce(
    (select a.client_id from vault.authorization_codes a where a.digest = presented),
    (select f.client_id from vault.refresh_tokens t join vault.token_families f on f.id = t.family_id where t.digest = presented),
    (select f.client_id from vault.access_tokens t join vault.token_families f on f.id = t.family_id where t.digest = presented)));
end
$function$;
GRANT EXECUTE ON FUNCTION app.client_of_grant(text,bytea) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.client_of_record(record uuid, recorded_at timestamp with time zone)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  me constant uuid := app.user_id();
  narrowed constant uuid := app.narrowed_to();
begin
  if me is null then
    return null;
  end if;
  return (
    select case when by.host <> c.name then c.name || ' (' || by.host || ')' else c.name end
    from public.audit_records a join public.connected_clients c on c.id = a.client_id
    cross join lateral (select regexp_replace(substring(c.metadata_url from '^https://([^/]+)'), ':[0-9]+$', '') as host) by
    where a.id = record and a.at = recorded_at and (narrowed is null or a.deal_id = narrowed)
      and (a.user_id = me or a.brokerage_id = any (app.brokerages_as('admin'))
        -- Of this deal alone: all of those of the caller would be read for each record.
        or exists (select from vault.deals_of_people o
          where o.user_id = me and o.deal_id = a.deal_id and o.role = 'broker' and o.organization_id <> all (app.barred_in(app.identity())))));
end
$function$;
GRANT EXECUTE ON FUNCTION app.client_of_record(uuid,timestamp with time zone) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.client_takes(client_id uuid, person uuid, redirect_uri text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return app.client_works_for(client_id, person) and exists (select from public.connected_clients c
    where c.id = client_takes.client_id and app.redirect_uri_matches(c.redirect_uris, client_takes.redirect_uri));
end
$function$;

CREATE OR REPLACE FUNCTION app.client_works_for(client_id uuid, user_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (select from vault.working_clients w
    where w.client_id = client_works_for.client_id and w.user_id = client_works_for.user_id);
end
$function$;

CREATE OR REPLACE FUNCTION app.clients_of_notices(mail uuid, of_kind text)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Mails are made by those who deliver them.');
  end if;
  return (
    select jsonb_agg(jsonb_build_object('name', c.name, 'urls', case when c.metadata_url is null then c.redirect_uris else array[c.metadata_url] end) order by c.name, c.id)
    from public.connected_clients c
    where c.id in (
      select n.subject_id
      from vault.outbox o
      join vault.notifications n on n.id in (select i::uuid from jsonb_array_elements_text(o.facts -> 'notifications') i)
        and n.user_id = o.recipient_id and n.kind = of_kind and n.deal_id is null and n.subject is null
      where o.id = clients_of_notices.mail and o.kind = 'notifications'));
end
$function$;
GRANT EXECUTE ON FUNCTION app.clients_of_notices(uuid,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.closing_warnings(deal_id uuid)
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  warnings text[] := '{}';
  open_conditions text[];
  questions int;
  selected uuid;
  buyer text;
  takes_part boolean;
begin
  if not deal_id = any (app.deals_acting_as('broker', 'deals:write')) then
    return '{}';
  end if;
  select array_agg(c.name order by c.deadline nulls last, c.id) into open_conditions from public.closing_conditions c
    where c.deal_id = closing_warnings.deal_id and c.status in ('open', 'in_progress');
  if cardinality(open_conditions) = 1 then
    warnings := array_append(warnings, format('A closing condition is not met: %s.', open_conditions[1]));
  elsif cardinality(open_conditions) > 1 then
    warnings := array_append(warnings, format('%s closing conditions are not met: %s%s.', cardinality(open_conditions),
      array_to_string(open_conditions[1:5], ', '), case when cardinality(open_conditions) > 5 then ' and others' end));
  end if;
  select x.participant_id, coalesce(p.left_name, u.name), p.role = 'buyer' and p.status = 'active' into selected, buyer, takes_part
    from public.exclusivities x
    join public.participants p on p.id = x.participant_id
    join public.users u on u.id = x.buyer_user_id
    where x.deal_id = closing_warnings.deal_id and x.ended_at is null;
  if selected is null then
    warnings := array_append(warnings, 'No buyer holds the exclusivity: the record will not say who bought.');
  elsif not takes_part then
    warnings := array_append(warnings, format('%s, who holds the exclusivity, is no longer a buyer on the deal.', buyer));
  end if;
  if app.accepted_offer(deal_id) is null then
    warnings := array_append(warnings, 'No offer is accepted: the record will not say on which terms.');
  elsif exists (select from public.offers o where o.deal_id = closing_warnings.deal_id and o.participant_id = selected and o.is_current
    and not exists (select from public.offer_decisions c where c.offer_id = o.id))
  then
    warnings := array_append(warnings, 'A proposed change to the accepted terms is not decided.');
  end if;
  if not (select d.needs_nda from public.deals d where d.id = closing_warnings.deal_id) then
    null;
  elsif selected is not null and not exists (select from vault.active_ndas n where n.participant_id = selected) then
    warnings := array_append(warnings, format('%s has no active NDA.', buyer));
  elsif selected is null and not exists (select from vault.active_ndas n where n.deal_id = closing_warnings.deal_id) then
    warnings := array_append(warnings, 'Nobody has an active NDA.');
  end if;
  select count(*) into questions from public.questions q
    where q.deal_id = closing_warnings.deal_id and q.status in ('pending_broker_review', 'with_seller', 'answered')
      and app.is_buyer_still(q.participant_id);
  if questions = 1 then
    warnings := array_append(warnings, 'A question is still without its answer.');
  elsif questions > 1 then
    warnings := array_append(warnings, format('%s questions are still without their answers.', questions));
  end if;
  -- A key has to confirm what is missing (app.may_move); what it is may be of scopes that the key lacks.
  if warnings <> '{}' and app.key_id() is not null then
    return '{"Something is missing for a closing."}';
  end if;
  return warnings;
end
$function$;
GRANT EXECUTE ON FUNCTION app.closing_warnings(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.confirm_second_factor(session bytea, code_step bigint, code_digests bytea[], token bytea, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  this vault.live_sessions;
begin
  -- Whoever ends the sessions of the account meanwhile is waited for.
  perform from public.users u where u.id = (select l.user_id from vault.live_sessions l where l.digest = session) for no key update;
  select r.* into this from app.recent_session_with_factor(session) r;
  update vault.totp t set confirmed_at = app.now(), last_step = code_step, failures = 0, failed_at = null
    where t.user_id = this.user_id and t.confirmed_at is null;
  if not found then
    return false;
  end if;
  delete from vault.recovery_codes c where c.user_id = this.user_id;
  insert into vault.recovery_codes (user_id, digest) select this.user_id, unnest(code_digests);
  update vault.sessions s set second_factor_at = app.now() where s.id = this.id;
  perform app.renew_session(this.id, token);
  perform app.notify_security_change(this.user_id, 'authenticator_added');
  perform app.record(this.user_id, 'second_factor.on', 'done', null, address, request_id);
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.confirm_second_factor(bytea,bigint,bytea[],bytea,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.connections()
 RETURNS TABLE(client_id uuid, scopes text[], connected_at timestamp with time zone, last_used_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return query
    select f.client_id, array_agg(distinct scope order by scope), min(f.consented_at), max(f.last_used_at)
    from (
      select l.client_id, l.scopes, l.consented_at, l.last_used_at from vault.token_families l
      where l.user_id = app.user_id() and l.revoked_at is null and l.ends_at > app.now()
        and exists (select from vault.refresh_tokens t
          where t.family_id = l.id and t.consumed_at is null and t.expires_at > app.now())
      offset 0) f, unnest(f.scopes) scope
    group by f.client_id;
end
$function$;
GRANT EXECUTE ON FUNCTION app.connections() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.contact_data(of_address text)
 RETURNS jsonb
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  with roots as materialized (
    select distinct coalesce(c.merged_into, c.id) as id from app.contacts_with_address(of_address) k join public.contacts c on c.id = k.id
  ), known as (
    select r.id from roots r union select c.id from public.contacts c join roots r on c.merged_into = r.id)
  select coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'brokerage_id', b.id, 'brokerage', b.name, 'type', c.type, 'display_name', c.display_name, 'email', c.email,
      'phone', c.phone, 'external_id', c.external_id, 'archived_at', c.archived_at, 'merged_into', c.merged_into, 'created_at', c.created_at,
      'updated_at', c.updated_at) order by c.id), '[]')
    from known n join public.contacts c on c.id = n.id join public.brokerages b on b.id = c.brokerage_id
$function$;

CREATE OR REPLACE FUNCTION app.contact_list(brokerage uuid, archived boolean, patterns text[], sort text, after_key text, after_id uuid, most integer)
 RETURNS TABLE(id uuid, type text, display_name text, email text, phone text, archived_at timestamp with time zone, erased_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone, place text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  by_name constant boolean := ltrim(sort, '-') = 'display_name';
  key constant text := case when by_name then 'app.folded("left"(c.display_name, 100))' else 'c.created_at' end;
  backwards constant boolean := starts_with(sort, '-');
begin
  if not brokerage = any (app.brokerages_for('contacts:read')) or (archived and app.key_id() is not null) then
    return;
  end if;
  return query execute format(
    case when cardinality(patterns) = 0 then
      'select c.id, c.type, c.display_name, c.email, c.phone, c.archived_at::timestamptz, c.erased_at::timestamptz, c.created_at::timestamptz, c.updated_at::timestamptz, (%1$s)::text
       from public.contacts c where c.brokerage_id = $1 and c.archived_at is %2$s null %4$s'
    else
      -- What is frequent is found among the first; of what is seldom, few are sorted.
      'with first as materialized (
         select c.* from public.contacts c where c.brokerage_id = $1 and c.archived_at is %2$s null %4$s order by %1$s %5$s, c.id %5$s limit 1000),
       near as materialized (select c.* from first c where true %3$s order by %1$s %5$s, c.id %5$s limit $4),
       enough as materialized (select (select count(*) from near) >= $4 or (select count(*) from first) < 1000 as is_so),
       c as materialized (
         select n.* from near n where (select e.is_so from enough e)
         union all
         select c.* from public.contacts c where c.brokerage_id = $1 and c.archived_at is %2$s null %3$s and not (select e.is_so from enough e))
       select c.id, c.type, c.display_name, c.email, c.phone, c.archived_at::timestamptz, c.erased_at::timestamptz, c.created_at::timestamptz, c.updated_at::timestamptz, (%1$s)::text
       from c where true %4$s'
    end || ' order by %1$s %5$s, c.id %5$s limit $4',
    key,
    case when archived then 'not' end,
    'and ' || vault.contact_has(patterns),
    case when after_key is not null
      then format('and (%s, c.id) %s (%s, $3)', key, case when backwards then '<' else '>' end, case when by_name then 'app.folded($2)' else '$2::timestamptz' end) end,
    case when backwards then 'desc' else 'asc' end)
    using brokerage, after_key, after_id, most;
end
$function$;
GRANT EXECUTE ON FUNCTION app.contact_list(uuid,boolean,text[],text,text,uuid,integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.contact_tag(id uuid, version integer, updated_at timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((((replace((id)::text, '-'::text, ''::text) || '.'::text) || version) || '.'::text) || ((EXTRACT(epoch FROM updated_at) * (1000)::numeric))::bigint);
GRANT EXECUTE ON FUNCTION app.contact_tag(uuid,integer,timestamp with time zone) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.contact_words(display_name text, email text, phone text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (app.folded((display_name || COALESCE((' '::text || email), ''::text))) || COALESCE((' '::text || translate(lower(phone), ' +()-./'::text, ''::text)), ''::text));
GRANT EXECUTE ON FUNCTION app.contact_words(text,text,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.contacts_of_key(presented bytea, mark text, most integer, after_at timestamp with time zone, after_id uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_seqscan TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  key record;
  found_here text;
begin
  select k.key_id, k.brokerage_id, k.scopes, k.ceiling into key from vault.key_in_force(presented) k;
  if key.brokerage_id is null then
    return null;
  end if;
  if 'contacts:read' = any (key.scopes) then
    select string_agg(concat_ws(mark, c.id, c.type, c.display_name, coalesce('+' || c.email, ''), coalesce('+' || c.phone, ''), c.created_at, c.updated_at), mark)
    into found_here from (select r.id, r.type, r.display_name, r.email, r.phone, r.created_at, r.updated_at from public.contacts r
      where r.brokerage_id = key.brokerage_id and r.archived_at is null
        and (r.created_at, r.id) < (coalesce(after_at, 'infinity'), coalesce(after_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
      order by r.created_at desc, r.id desc limit most) c;
  end if;
  return concat_ws(mark, key.key_id, key.brokerage_id, array_to_string(key.scopes, ' '), coalesce(key.ceiling::text, ''), found_here);
end
$function$;
GRANT EXECUTE ON FUNCTION app.contacts_of_key(bytea,text,integer,timestamp with time zone,uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.contacts_that_fit(archived text, of_type text, of_email text, patterns text[], since timestamp with time zone, sort text, after_key text, after_id uuid, most integer)
 RETURNS TABLE(id uuid, type text, display_name text, email text, phone text, external_id text, archived_at timestamp with time zone, merged_into uuid, erased_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone, tag text, place text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  brokerage constant uuid := case when app.key_id() is not null then (app.brokerages_for('contacts:read'))[1] end;
  key constant text := case sort when 'displayName' then 'app.folded("left"(c.display_name, 100))' when 'updatedAt' then 'c.updated_at' else 'c.created_at' end;
  direction constant text := case when starts_with(sort, '-') then 'desc' else 'asc' end;
  picked constant text := concat_ws(' and ',
    case when of_email is not null then 'c.email is not null and lower(c.email) = lower($2)' end,
    vault.contact_has(patterns));
  narrowed constant text := concat(case when since is not null then ' and c.updated_at >= $3' end,
    case when after_key is not null then format(' and (%s, c.id) %s (%s, $6)', key, case direction when 'desc' then '<' else '>' end,
      case when sort = 'displayName' then 'app.folded($5)' else '$5::timestamptz' end) end);
  in_order constant text := format('order by %1$s %2$s, c.id %2$s', key, direction);
  -- Of what is picked out by address or words, few are left: they are sorted.
  ordered constant text := format('select c.*, (%s)::text as place from %s c where c.brokerage_id = $1 and %%s %s %s limit $7',
    key, case when picked = '' then 'public.contacts' else 'picked' end, narrowed, in_order);
  fields constant text := 'c.id, c.type, c.display_name, c.email, c.phone, c.external_id, c.archived_at::timestamptz, c.merged_into, c.erased_at::timestamptz, c.created_at::timestamptz, c.updated_at::timestamptz, app.contact_tag(c.id, c.version, c.updated_at), c.place';
  -- Words are looked for in the contacts of all brokerages at once, by index. Where a brokerage has few, they are read instead.
  few constant boolean := cardinality(patterns) > 0
    and (select count(*) from (select from public.contacts c where c.brokerage_id = brokerage and c.archived_at is null limit 5001) c) <= 5000
    and (select count(*) from (select from public.contacts c where c.brokerage_id = brokerage and c.archived_at is not null limit 5001) c) <= 5000;
  parts text;
begin
  if brokerage is null then
    return;
  end if;
  select string_agg('(' || format(ordered, concat_ws(' and ', a.condition, t.condition)) || ')', ' union all ') into parts
  from (values ('c.archived_at is null', '{false,true}'::text[]), ('c.archived_at is not null', '{only,true}')) a (condition, of),
    -- Where the index begins with the type, each type is a scan of its own.
    (select 'c.type = $4' as condition where of_type is not null
     union all select null where of_type is null and (sort <> 'updatedAt' or picked <> '')
     union all select format('c.type = %L', one) from unnest('{company,person}'::text[]) one where of_type is null and sort = 'updatedAt' and picked = '') t
  where archived = any (a.of);
  -- What is frequent is found among the first.
  if cardinality(patterns) > 0 and not few and archived <> 'true' then
    return query execute format(
      'with first as materialized (
         select c.*, (%s)::text as place from public.contacts c where c.brokerage_id = $1 and %s %s %s limit 1000),
       near as materialized (select c.* from first c where %s %s limit $7)
       select %s from near c where (select count(*) from near) >= $7 %s',
      key, concat_ws(' and ', case archived when 'only' then 'c.archived_at is not null' else 'c.archived_at is null' end, case when of_type is not null then 'c.type = $4' end),
      narrowed, in_order, picked, in_order, fields, in_order)
      using brokerage, of_email, since, of_type, after_key, after_id, most;
    if found then
      return;
    end if;
  end if;
  return query execute format(
    '%s select %s from (%s) c %s limit $7',
    case when picked <> '' then format('with picked as materialized (%s)', (
      select string_agg(format('select c.* from (select c.* from public.contacts c where c.brokerage_id = $1 and c.archived_at is %s null %s) c where %s',
        a.is_not, case when few then 'offset 0' end, picked), ' union all ')
      from (values ('', '{false,true}'::text[]), ('not', '{only,true}')) a (is_not, of) where archived = any (a.of))) end,
    fields, parts, in_order)
    using brokerage, of_email, since, of_type, after_key, after_id, most;
end
$function$;
GRANT EXECUTE ON FUNCTION app.contacts_that_fit(text,text,text,text[],timestamp with time zone,text,text,uuid,integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.contacts_with_address(address text)
 RETURNS TABLE(id uuid, brokerage_id uuid)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select k.id, b.id from public.brokerages b
  cross join lateral (
    select c.id from public.contacts c
      where c.brokerage_id = b.id and lower(c.email) = address and c.email is not null and c.archived_at is null
    union all
    select c.id from public.contacts c
      where c.brokerage_id = b.id and lower(c.email) = address and c.email is not null and c.archived_at is not null
    offset 0) k
$function$;

CREATE OR REPLACE FUNCTION app.contacts_with_emails(brokerage uuid, emails text[])
 RETURNS TABLE(email text, id uuid)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
begin
  if not brokerage = any (app.brokerages_for('contacts:read')) then
    return;
  end if;
  return query
    select e.email, k.id from (select distinct u.email from unnest(emails) u (email)) e
    cross join lateral (
      select c.id from public.contacts c
      where c.brokerage_id = brokerage and c.archived_at is null and c.email is not null and lower(c.email) = e.email
      order by c.brokerage_id, lower(c.email), c.id limit 1) k;
end
$function$;
GRANT EXECUTE ON FUNCTION app.contacts_with_emails(uuid,text[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.contradictions_in_sight(deal uuid)
 RETURNS TABLE(told_all boolean, may_answer boolean, answers json)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_seqscan TO 'off'
AS $function$
declare
  part constant text[] := string_to_array(app.identity(), ',');
  of_deal_side boolean;
  of_workspace boolean;
begin
  if coalesce(part[1], '') = '' or part[8] is distinct from deal::text then
    return;
  end if;
  of_deal_side := part[12] in ('broker', 'seller');
  of_workspace := part[12] in ('buyer', 'viewer') and deal = any (app.qoe_deals(false));
  return query
    select of_deal_side, d.state <> 'closed' and part[10] = 'broker', (
      select coalesce(json_agg(json_build_object('contradiction', a.contradiction, 'figures', a.figures, 'status', a.status, 'why', a.why,
        'answered_by_name', (select app.people_on_deal(deal)) -> a.answered_by::text ->> 1,
        'answered_at', to_char(a.answered_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'released_by_name', (select app.people_on_deal(deal)) -> a.released_by::text ->> 1,
        'released_at', to_char(a.released_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))), '[]')
      from (select k.* from public.contradiction_answers k
        where k.deal_id = deal and (of_deal_side or of_workspace and k.released_at is not null) limit 500) a)
    from public.deals d where d.id = deal;
end
$function$;
GRANT EXECUTE ON FUNCTION app.contradictions_in_sight(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.could_open(of_table text, record uuid, deal uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return app.could_open_as(of_table, record, array_to_string((string_to_array(app.identity(), ','))[8:12], ','), app.brokerages_as('admin'));
end
$function$;

CREATE OR REPLACE FUNCTION app.could_open_as(of_table text, record uuid, standing text, administered uuid[])
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  deal constant uuid := nullif(split_part(standing, ',', 1), '');
  principal constant uuid := case when split_part(standing, ',', 5) <> 'viewer' then nullif(split_part(standing, ',', 4), '') end;
  side constant text := split_part(standing, ',', 5);
begin
  case of_table
    when 'questions' then
      return exists (select from public.questions q where q.id = record and q.deal_id = deal
        and (side = 'broker' or q.participant_id = principal or (q.status in ('with_seller', 'answered', 'distributed') and side = 'seller')));
    when 'question_answers' then
      return side in ('broker', 'seller') and exists (select from public.question_answers a where a.question_id = record and a.deal_id = deal);
    when 'ndas' then
      return exists (select from public.ndas n where n.id = record and n.deal_id = deal
        and (side in ('broker', 'seller') or n.participant_id = principal));
    when 'documents' then
      return exists (select from public.documents d where d.id = record and d.deal_id = deal and d.removed_at is null
        and app.document_opens_to(d.confidentiality, deal, side, principal));
    when 'production_documents' then
      return exists (select from public.production_documents d where d.id = record and d.deal_id = deal and d.removed_at is null
        and app.document_opens_to(d.confidentiality, deal, side, principal));
    when 'offers' then
      return exists (select from public.offers o where o.id = record and o.deal_id = deal
        and (side in ('broker', 'seller') or o.participant_id = principal));
    when 'exclusivities' then
      return exists (select from public.exclusivities x where x.id = record and x.deal_id = deal
        and (side in ('broker', 'seller', 'viewer') or x.participant_id = principal or app.is_administered(deal, administered)));
    when 'closing_conditions' then
      return exists (select from public.closing_conditions c where c.id = record and c.deal_id = deal
        and (side in ('broker', 'seller', 'viewer') or app.is_administered(deal, administered)
          or (side = 'buyer' and exists (select from vault.selected_buyers s where s.participant_id = principal))));
    when 'findings' then
      return exists (select from public.findings f where f.id = record and f.deal_id = deal
        and (side in ('broker', 'seller') or f.participant_id = principal));
    when 'participants' then
      return exists (select from public.participants p where p.id = record and p.deal_id = deal
        and (side in ('broker', 'seller', 'viewer') or coalesce(p.advises, p.id) = principal or app.is_administered(deal, administered)
          or (side = 'buyer' and p.status = 'active' and (p.role = 'broker' or (p.role = 'seller'
            and (exists (select from public.deals d where d.id = deal and not d.needs_nda)
              or exists (select from vault.active_ndas n where n.participant_id = principal)))))));
    when 'deals' then
      return exists (select from public.deals d where d.id = record and d.id = deal);
    when 'deal_stages' then
      return exists (select from public.deals d where d.id = record and d.id = deal
        and (side in ('broker', 'seller', 'viewer') or app.is_administered(deal, administered)
          or (side = 'buyer' and exists (select from vault.selected_buyers s where s.participant_id = principal))));
    -- What was done about the exclusivity of this participant.
    when 'exclusive_buyers' then
      return exists (select from public.participants p where p.id = record and p.deal_id = deal
        and (side in ('broker', 'seller', 'viewer') or p.id = principal or app.is_administered(deal, administered)));
    when 'api_keys' then
      return exists (select from public.api_keys k where k.id = record and k.brokerage_id = any (administered));
    else return of_table is null;
  end case;
end
$function$;

CREATE OR REPLACE FUNCTION app.count_address_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.count_mail_to(new.user_id, null, new.new_email, false);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.count_invitation()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.count_mail_to(app.user_id(),
    coalesce(new.brokerage_id, (select d.organization_id
      from public.participants p join public.deals d on d.id = p.deal_id where p.id = new.participant_id)),
    (select u.email from public.users u where u.id = new.user_id), app.key_id() is null);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.count_mail(subject text, part text, ceiling integer)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  counted int;
begin
  insert into vault.mail_counts as m (subject, since, sent)
    values (part || ' ' || count_mail.subject, date_trunc(part, app.now(), 'UTC'), 1)
    on conflict on constraint mail_counts_pkey do update set sent = m.sent + 1
    returning m.sent into counted;
  return counted <= ceiling;
end
$function$;

CREATE OR REPLACE FUNCTION app.count_mail_to(sender uuid, brokerage uuid, mailbox text, or_link boolean)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  address constant text := app.mailbox_of(mailbox);
  -- Whoever enters addresses as new ones of their account acts for no brokerage, and takes nothing from what brokerages may send there.
  total constant text := case when brokerage is null then 'change to ' else 'to ' end;
  again constant text := 'try again after %s' || case when or_link then ', or create a link and pass it on.' else '.' end;
begin
  if not app.count_mail('from ' || sender, 'minute', 20) then
    perform app.refuse_mail('minute', 'You have sent 20 e-mails within a minute: continue in a minute.');
  end if;
  if not app.count_mail('from ' || sender, 'hour', 60) then
    perform app.refuse_mail('hour', 'You have sent 60 e-mails within this hour: ' || again);
  end if;
  if not app.count_mail('from ' || sender, 'day', 100) then
    perform app.refuse_mail('day', 'You have sent 100 e-mails today: ' || again);
  end if;
  if brokerage is not null and not app.count_mail('for ' || brokerage, 'day', 500) then
    perform app.refuse_mail('day', 'Your brokerage has sent 500 e-mails today: ' || again);
  end if;
  -- Colleagues invite each other to many deals a day. Somebody who has not proven the mailbox may have entered the address of a stranger.
  if brokerage is not null
    and exists (select from public.members m where m.brokerage_id = count_mail_to.brokerage and m.user_id = sender and m.status = 'active')
    and exists (select from public.users u
      join public.members m on m.user_id = u.id and m.brokerage_id = count_mail_to.brokerage and m.status = 'active'
      join vault.passwords w on w.user_id = u.id and w.address_proven_at is not null
      where u.email = lower(mailbox))
  then
    return;
  end if;
  if not app.count_mail(total || address, 'hour', 10) then
    perform app.refuse_mail('hour', 'This address was sent many e-mails within this hour: ' || again);
  end if;
  if not app.count_mail('from ' || coalesce(brokerage, sender) || ' to ' || address, 'day', 5)
    or not app.count_mail(total || address, 'day', 20)
  then
    perform app.refuse_mail('day', 'This address was sent many e-mails today: ' || again);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION app.count_notice(person uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if not app.count_mail('notice to ' || person, 'day', 20) then
    perform app.refuse_mail('day', 'The sign-in methods of this account were changed 20 times today: try again after %s.');
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION app.counted_of(subject text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN array_remove(ARRAY[substr(subject, (NULLIF(strpos(subject, ' from '::text), 0) + 6), 36), substr(subject, (NULLIF(strpos(subject, ' for '::text), 0) + 5), 36), substr(subject, (NULLIF(strpos(subject, ' to '::text), 0) + 4)), "substring"(subject, '@([^@]*)$'::text)], NULL::text);

CREATE OR REPLACE FUNCTION app.create_api_key(brokerage_id uuid, name text, environment text, scopes text[], ceiling integer, expires_at timestamp with time zone, digest bytea, last_four text, address inet, request_id text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  made uuid;
begin
  perform app.hold_session();
  perform app.check_key_admin(brokerage_id);
  if expires_at <= app.now() then
    perform app.refuse('expires_in_the_past', 'The key must expire in the future, or never.');
  end if;
  made := app.issue_api_key(brokerage_id, app.user_id(), name, environment, scopes, ceiling, expires_at, digest, last_four);
  perform app.audit('api_key.create', made::text, 'done', brokerage_id, null, address, request_id,
    jsonb_build_object('environment', environment, 'scopes', scopes, 'ceiling', ceiling, 'expires_at', expires_at));
  return made;
end
$function$;
GRANT EXECUTE ON FUNCTION app.create_api_key(uuid,text,text,text[],integer,timestamp with time zone,bytea,text,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.create_contact_by_key(presented bytea, made uuid, record_id uuid, type text, display_name text, email text, phone text, idempotency_key text, body_digest bytea, address inet, request_id text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET enable_seqscan TO 'off'
AS $function$
declare
  key record;
  now constant timestamptz(3) := app.now();
  earlier vault.idempotency_keys;
begin
  select k.key_id, k.brokerage_id, k.is_test, k.scopes, k.ceiling into key from vault.key_in_force(presented) k;
  if key.brokerage_id is null then
    return null;
  end if;
  if not 'contacts:write' = any (key.scopes) then
    return concat_ws(',', key.key_id, key.brokerage_id, array_to_string(key.scopes, ' '), coalesce(key.ceiling::text, ''));
  end if;
  if key.is_test then
    -- Without a seal it identifies nobody: a new contact of a sandbox has to have room there (app.note_new_contact).
    perform set_config('dealkeep.identity', concat(',,', key.key_id, ',', key.brokerage_id), true);
  end if;
  if idempotency_key is not null then
    insert into vault.idempotency_keys as kept (key_id, idempotency_key, body_digest, contact_id, made_at)
    values (key.key_id, create_contact_by_key.idempotency_key, create_contact_by_key.body_digest, made, now)
    on conflict on constraint idempotency_keys_pkey do update
      set body_digest = excluded.body_digest, contact_id = excluded.contact_id, made_at = excluded.made_at
      where kept.made_at <= now - interval '24 hours';
    if not found then
      select k.* into strict earlier from vault.idempotency_keys k
      where k.key_id = key.key_id and k.idempotency_key = create_contact_by_key.idempotency_key;
      if earlier.body_digest <> create_contact_by_key.body_digest then
        perform app.refuse('idempotency_key_reused',
          'This Idempotency-Key was used with another body within the last 24 hours: send the same body, or use a new key.');
      end if;
      insert into public.audit_records (id, brokerage_id, key_id, address, request_id, action, subject_id, outcome, noted)
      values (record_id, key.brokerage_id, key.key_id, create_contact_by_key.address, create_contact_by_key.request_id, 'contact.create',
        earlier.contact_id::text, 'repeated', false);
      return concat_ws(',', key.key_id, key.brokerage_id, array_to_string(key.scopes, ' '), coalesce(key.ceiling::text, ''),
        earlier.contact_id, earlier.made_at, 'repeated');
    end if;
    delete from vault.idempotency_keys k using (
      select o.key_id, o.idempotency_key from vault.idempotency_keys o
      where o.made_at <= now - interval '24 hours' order by o.made_at limit 5 for update skip locked) o
    where k.key_id = o.key_id and k.idempotency_key = o.idempotency_key;
  end if;
  insert into public.contacts (id, brokerage_id, type, display_name, email, phone, created_by, created_by_key, created_at, updated_at)
  values (made, key.brokerage_id, create_contact_by_key.type, create_contact_by_key.display_name, create_contact_by_key.email,
    create_contact_by_key.phone, null, key.key_id, now, now);
  insert into public.audit_records (id, brokerage_id, key_id, address, request_id, action, subject_id, outcome, details, noted)
  values (record_id, key.brokerage_id, key.key_id, create_contact_by_key.address, create_contact_by_key.request_id, 'contact.create', made::text, 'done',
    jsonb_build_object('type', create_contact_by_key.type), false);
  return concat_ws(',', key.key_id, key.brokerage_id, array_to_string(key.scopes, ' '), coalesce(key.ceiling::text, ''), made, now);
end
$function$;
GRANT EXECUTE ON FUNCTION app.create_contact_by_key(bytea,uuid,uuid,text,text,text,text,text,bytea,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.cursor_secret()
 RETURNS bytea
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$ select secret from vault.cursor_secret $function$;
GRANT EXECUTE ON FUNCTION app.cursor_secret() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.day_in(text text)
 RETURNS date
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  return case when text ~ '^\d{4}-\d\d-\d\d$' then text::date end;
exception when data_exception then
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.deadlines()
 RETURNS TABLE(subject text, subject_id uuid, deal_id uuid, deal_title text, due_at timestamp with time zone, due_on date, own boolean, begun_at timestamp with time zone, changed_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_nestloop TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  now constant timestamptz := app.now();
  until constant timestamptz := now + interval '2 years';
  deals uuid[];
  principals uuid[];
  sides text[];
  titles text[];
  -- Brokers and sellers know of every NDA on them.
  run uuid[];
  -- Of buyers only that with the exclusivity is told when it ends, and of conditions.
  informed uuid[];
  -- Which of these are exclusive yet.
  exclusive uuid[];
  -- Who the conditions are for.
  selected uuid[];
begin
  if me is null or app.client_id() is not null then
    return;
  end if;
  select array_agg(o.deal_id), array_agg(o.principal_id), array_agg(o.side), array_agg(o.title),
      array_agg(o.deal_id) filter (where o.side in ('broker', 'seller')),
      array_agg(case when o.expires_at > now or o.stage is distinct from 'exclusivity' then o.holder_id end),
      array_agg(o.deal_id) filter (where o.side <> 'buyer' or o.holder_id = o.principal_id),
      array_agg(o.deal_id) filter (where (o.side <> 'buyer' or o.holder_id = o.principal_id) and o.expires_at > now and o.expires_at <= until)
    into deals, principals, sides, titles, run, selected, informed, exclusive
    from vault.deals_of_people o
    where o.user_id = me and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed) and o.state not in ('closed', 'withdrawn');
  return query
    -- `participant_id`: whose side it concerns, where the others on the buyers' side do not see it. `own_side`: it was looked for among what is of the caller's side.
    with due (subject, subject_id, deal_id, participant_id, due_at, due_on, owner_user_id, begun_at, changed_at, own_side) as (
      select 'offers', t.id, t.deal_id, t.participant_id, t.expires_at, null::date, null::uuid, t.submitted_at, t.submitted_at, false
        from (select c.id, c.deal_id, c.participant_id, c.submitted_at, app.time_in(c.payload ->> 'expires_at') as expires_at
          from public.offers c where c.deal_id = any (deals) and c.is_current and c.payload ->> 'expires_at' is not null
          offset 0) t
        where t.expires_at > now and t.expires_at <= until
          and t.id <> all (array(select x.offer_id from public.offer_decisions x where x.deal_id = any (deals)))
          -- Asked for the few that end.
          and (select p.role = 'buyer' and p.status = 'active' from public.participants p where p.id = t.participant_id)
      union all
      select 'exclusivities', x.id, x.deal_id, x.participant_id, x.expires_at, null, null, x.granted_at, coalesce(x.changed_at, x.granted_at), false
        from public.exclusivities x
        where x.deal_id = any (exclusive) and x.ended_at is null and x.expires_at > now and x.expires_at <= until
      union all
      select 'ndas', n.id, n.deal_id, n.participant_id, n.expires_at, null, null, n.signed_at, n.signed_at, false
        from public.ndas n
        where n.deal_id = any (run) and n.status = 'active' and n.expires_at > now and n.expires_at <= until
      union all
      select 'ndas', n.nda_id, n.deal_id, n.participant_id, n.expires_at, null, null, n.signed_at, n.signed_at, true
        from vault.ndas_of_people n
        where n.user_id = me and (narrowed is null or n.deal_id = narrowed) and n.expires_at > now and n.expires_at <= until
      union all
      select 'closing_conditions', c.id, c.deal_id, null, app.end_of(c.deadline), c.deadline, c.owner_user_id, c.created_at, c.updated_at, false
        from public.closing_conditions c
        where c.deal_id = any (informed) and c.status in ('open', 'in_progress')
          and c.deadline between (now - interval '60 days')::date and until::date),
    first as (
      select w.*, o.title, case w.subject when 'closing_conditions' then w.owner_user_id is not distinct from me else o.side <> 'viewer' and w.participant_id = o.principal_id end as own
      from due w join unnest(deals, principals, sides, titles, selected) o (deal_id, principal_id, side, title, selected) on o.deal_id = w.deal_id
      where case when o.side in ('broker', 'seller') then not w.own_side
          else o.side <> 'viewer' and o.principal_id = case w.subject when 'closing_conditions' then o.selected else w.participant_id end end
        or (o.side = 'viewer' and w.subject in ('exclusivities', 'closing_conditions'))
      order by w.due_at, w.subject_id limit 1000)
    select f.subject, f.subject_id, f.deal_id, f.title, f.due_at, f.due_on, f.own, f.begun_at, f.changed_at
    from first f order by f.due_at, f.subject_id;
end
$function$;
GRANT EXECUTE ON FUNCTION app.deadlines() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.deadlines_of(of_table text, record jsonb)
 RETURNS TABLE(kind text, remind_at timestamp with time zone, due_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  ends constant timestamptz := case of_table
    when 'ndas' then case when record ->> 'status' = 'active' then (record ->> 'expires_at')::timestamptz end
    when 'offers' then
      case when (record ->> 'is_current')::boolean and not exists (select from public.offer_decisions x where x.offer_id = (record ->> 'id')::uuid)
          and exists (select from public.participants p where p.id = (record ->> 'participant_id')::uuid and p.role = 'buyer' and p.status = 'active')
        then app.time_in(record #>> '{payload,expires_at}') end
    when 'exclusivities' then case when record ->> 'ended_at' is null then (record ->> 'expires_at')::timestamptz end
    when 'closing_conditions' then
      case when record ->> 'status' in ('open', 'in_progress') then app.end_of((record ->> 'deadline')::date) end
  end;
begin
  return query
    select r.kind, ends - r.before, ends
    -- A condition ends at noon of the day after its own, in UTC, when that is over everywhere: three days before its day are four before then.
    from (values ('ndas', 'nda_ending', interval '7 days'), ('offers', 'offer_expiring', interval '2 days'),
      ('exclusivities', 'exclusivity_ending', interval '7 days'), ('exclusivities', 'exclusivity_ending', interval '1 day'),
      ('closing_conditions', 'condition_due', interval '4 days'), ('closing_conditions', 'condition_overdue', interval '0'))
      r (subject, kind, before)
    where r.subject = of_table and ends is not null;
end
$function$;

CREATE OR REPLACE FUNCTION app.deal_activity_in_sight(deal uuid, after_at timestamp with time zone, after_id uuid, most integer)
 RETURNS TABLE(id uuid, at timestamp with time zone, user_id uuid, client_id uuid, deal_id uuid, action text, subject_id text, outcome text, details jsonb)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  one public.audit_records;
  looked int := 0;
  shown int := 0;
  sees_all boolean;
begin
  if me is null or app.narrowed_to() is distinct from deal or deal = any (app.deals_acting_as('broker'))
    or (select d.organization_id from public.deals d where d.id = deal) = any (app.brokerages_as('admin'))
  then
    return;
  end if;
  sees_all := deal = any (app.deals_as('broker', 'seller', 'viewer'));
  for one in
    select a.* from public.audit_records a
    where a.deal_id = deal and a.noted
      and (after_at is null or (a.at, a.id) < (after_at, after_id))
      and a.user_id is distinct from me and app.subject_of(a.action, a.details) is not null
      and a.subject_id ~ '^[0-9a-f-]{36}$'
    order by a.at desc, a.id desc limit 2000
  loop
    looked := looked + 1;
    if app.could_open(app.subject_of(one.action, one.details), one.subject_id::uuid, deal)
      and (sees_all or case app.subject_of(one.action, one.details)
        when 'participants' then not exists (select from vault.role_changes c where c.participant_id = one.subject_id::uuid and c.at > one.at)
        -- Not what was before they were selected: it may have been about somebody else.
        when 'deal_stages' then exists (select from public.exclusivities x
          where x.deal_id = deal and x.participant_id = any (app.principals()) and x.ended_at is null and x.granted_at <= one.at)
        else true end)
    then
      id := one.id; at := one.at; user_id := one.user_id; client_id := one.client_id; deal_id := one.deal_id;
      action := one.action; subject_id := one.subject_id; outcome := one.outcome; details := one.details;
      return next;
      shown := shown + 1;
      exit when shown >= least(most, 200);
    end if;
  end loop;
  -- Hidden as far as was looked: where to go on from.
  if looked = 2000 and shown < least(most, 200) then
    return query select one.id, one.at, null::uuid, null::uuid, null::uuid, null::text, null::text, null::text, null::jsonb;
  end if;
end
$function$;
GRANT EXECUTE ON FUNCTION app.deal_activity_in_sight(uuid,timestamp with time zone,uuid,integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.deal_invitations()
 RETURNS TABLE(participant_id uuid, role text, brokerage_name text, deal_title text, invited_at timestamp with time zone)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select i.id, i.role, i.name, i.title, i.updated_at
  from (
    select p.id, p.role, b.name, d.title, p.updated_at, row_number() over (partition by d.organization_id order by p.updated_at desc, p.id desc) as nth
    from public.participants p
    join public.deals d on d.id = p.deal_id
    join public.brokerages b on b.id = d.organization_id
    where p.user_id = app.user_id() and p.status = 'invited' and not app.address_in_doubt(d.organization_id)
      and not d.organization_id = any (app.barred_in((select app.identity())))
      and not exists (select from vault.deletions_begun g where g.brokerage_id = d.organization_id)) i
  where i.nth <= 20
  order by i.updated_at desc, i.id desc limit 200
$function$;
GRANT EXECUTE ON FUNCTION app.deal_invitations() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.deal_invitations_made(person uuid, of_brokerage uuid)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  -- The latest one counts: an invitation that somebody else has sent again is theirs.
  return query
    with made as materialized (
      select r.subject_id::uuid as id, max(r.at) as at from public.audit_records r
      where r.user_id = person and r.action not like 'tool:%' and r.action collate "C" = 'participant.invite' and r.outcome = 'done'
        and (of_brokerage is null or r.brokerage_id = of_brokerage)
      group by r.subject_id)
    select p.id from made m
    cross join lateral (select q.id, q.deal_id from public.participants q where q.id = m.id and q.status = 'invited' offset 0) p
    where not exists (select from public.audit_records l
      where l.deal_id = p.deal_id and l.noted and l.at > m.at and l.action = 'participant.invite' and l.subject_id = p.id::text
        and l.user_id is distinct from person);
end
$function$;

CREATE OR REPLACE FUNCTION app.deal_is_visible(deal_id uuid, organization_id uuid, participating uuid[], administered uuid[])
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((deal_id = ANY (participating)) OR (organization_id = ANY (administered)));
GRANT EXECUTE ON FUNCTION app.deal_is_visible(uuid,uuid,uuid[],uuid[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.deal_keys(patterns text[], dated boolean)
 RETURNS TABLE(id uuid, title text, asking_price numeric, state text, caller_role text, created_at timestamp with time zone, active_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  administered constant uuid[] := app.brokerages_as('admin');
  now constant timestamptz := app.now();
begin
  patterns := (select array_agg(app.folded(p)) from unnest(patterns) p);
  return query
    -- Read anew where it is needed again, by admins and for when something was done: to keep it costs everybody more.
    with seen as not materialized (
      select o.* from vault.deals_of_people o
      where o.user_id = me and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed)
        and (patterns is null or app.folded(o.title || coalesce(' ' || o.industry, '') || coalesce(' ' || o.location, '')) like all (patterns))),
    known as (
      select s.deal_id as id, s.organization_id, s.title, s.asking_price, s.state, s.created_at, s.updated_at, s.role, s.principal_id,
        s.side, s.stage, s.stage_updated_at, s.holder_id, s.buyer_user_id, s.expires_at, null::timestamptz as done_at
      from seen s
      union all
      -- The others of the brokerages that the caller administers. All that hangs on them is found by brokerage: there may be thousands.
      select d.id, d.organization_id, d.title, d.asking_price, d.state, d.created_at, d.updated_at, null, null,
        null, g.state, g.updated_at, x.participant_id, x.buyer_user_id, x.expires_at, a.at
      from public.deals d
      left join (select s.* from public.deal_stages s where s.brokerage_id = any (administered)) g on g.deal_id = d.id
      left join (select e.* from public.exclusivities e where e.brokerage_id = any (administered) and e.ended_at is null) x on x.deal_id = d.id
      left join (select a.deal_id, a.at from vault.deal_activity a where a.brokerage_id = any (case when dated then administered end)) a on a.deal_id = d.id
      where d.organization_id = any (administered)
        -- As a case, of which half are expected to hold: else PostgreSQL expects hardly any and builds its hash tables of the deals.
        and case when patterns is null then true else app.folded(d.title || coalesce(' ' || d.industry, '') || coalesce(' ' || d.location, '')) like all (patterns) end
        and not exists (select from seen where seen.deal_id = d.id))
    select d.id, d.title, d.asking_price,
      case when d.stage is null then d.state when d.stage = 'exclusivity' and not k.runs and d.state in ('under_offer', 'exclusivity') then 'listed'
        when k.knows_stage then d.stage else d.state end,
      case
        when d.role = 'broker' then 'broker_assigned'
        when d.role = 'buyer' and d.buyer_user_id = me and k.runs and (k.of_the_deal or k.of_the_exclusive_buyer) then 'exclusive_buyer'
        when d.role in ('seller', 'buyer', 'advisor') then 'participant'
        else 'viewer'
      end,
      d.created_at,
      case when dated then greatest(d.updated_at, case when d.stage is not null and k.knows_stage then d.stage_updated_at end,
        case when d.role = 'broker' or d.organization_id = any (administered) then coalesce(d.done_at, of_all.at) else of_own.at end) end
    from known d
    -- Who runs a deal is told when something was last done on it, everybody else when they did; nothing is read where nobody asks.
    left join (select a.deal_id, a.at from vault.deal_activity a
      where a.deal_id = any (case when dated then array(
        select s.deal_id from seen s where s.role = 'broker' or s.organization_id = any (administered)) end)) of_all
      on of_all.deal_id = d.id
    left join (select a.deal_id, a.at from vault.own_activity a where a.user_id = case when dated then me end) of_own
      on of_own.deal_id = d.id
    cross join lateral (select coalesce(d.side in ('broker', 'seller', 'viewer') or d.organization_id = any (administered), false) as of_the_deal,
      coalesce(d.holder_id = d.principal_id, false) as of_the_exclusive_buyer, coalesce(d.expires_at > now, false) as runs) w
    cross join lateral (select w.*, w.of_the_deal or (d.side = 'buyer' and w.of_the_exclusive_buyer and (w.runs or d.stage is distinct from 'exclusivity')) as knows_stage) k;
end
$function$;
GRANT EXECUTE ON FUNCTION app.deal_keys(text[],boolean) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.deal_notification_choice(deal uuid)
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select c.delivery from vault.deal_notification_choices c where c.user_id = app.user_id() and c.deal_id = deal
$function$;
GRANT EXECUTE ON FUNCTION app.deal_notification_choice(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.deal_notification_choices()
 RETURNS TABLE(deal_id uuid, delivery text)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select c.deal_id, c.delivery from vault.deal_notification_choices c
  join public.deals d on d.id = c.deal_id
  where c.user_id = app.user_id()
    and app.deal_is_visible(d.id, d.organization_id, (select app.deals_as('broker', 'seller', 'buyer', 'viewer')), (select app.brokerages_as('admin')))
  order by c.deal_id limit 200
$function$;
GRANT EXECUTE ON FUNCTION app.deal_notification_choices() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.deal_of(of_table text, record uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  deal uuid;
begin
  case of_table
    when 'deals' then deal := record;
    when 'participants' then select r.deal_id into deal from public.participants r where r.id = record;
    when 'ndas' then select r.deal_id into deal from public.ndas r where r.id = record;
    when 'offers' then select r.deal_id into deal from public.offers r where r.id = record;
    when 'closing_conditions' then select r.deal_id into deal from public.closing_conditions r where r.id = record;
    when 'questions' then select r.deal_id into deal from public.questions r where r.id = record;
    when 'documents' then select r.deal_id into deal from public.documents r where r.id = record;
    when 'production_documents' then select r.deal_id into deal from public.production_documents r where r.id = record;
    when 'accounting_snapshots' then select r.deal_id into deal from public.accounting_snapshots r where r.id = record;
    when 'qoe_checklist' then select r.deal_id into deal from public.qoe_checklist r where r.id = record;
    when 'normalizations' then select r.deal_id into deal from public.normalizations r where r.id = record;
    when 'findings' then select r.deal_id into deal from public.findings r where r.id = record;
    when 'financing_sources' then select r.deal_id into deal from public.financing_sources r where r.id = record;
  end case;
  return deal;
end
$function$;

CREATE OR REPLACE FUNCTION app.deal_opted_in(deal_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return app.seen_deal(deal_opted_in.deal_id) is not null
    and exists (select from public.deal_opt_ins o
      where o.user_id = app.user_id() and o.deal_id = deal_opted_in.deal_id
        and (o.expires_at is null or o.expires_at > app.now()))
    and not exists (select from public.deal_tool_stops s where s.deal_id = deal_opted_in.deal_id);
end
$function$;

CREATE OR REPLACE FUNCTION app.deal_rows(deals uuid[])
 RETURNS TABLE(id uuid, organization_id uuid, organization_name text, title text, industry text, location text, summary text, asking_price numeric, currency text, needs_nda boolean, state text, caller_role text, side text, exclusive_buyer_user_id uuid, exclusivity_granted_at timestamp with time zone, exclusivity_expires_at timestamp with time zone, closed_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone, questions_waiting integer, offers integer)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_nestloop TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  administered constant uuid[] := app.brokerages_as('admin');
begin
  return query
    with known as materialized (select k.* from app.deals_as_known(me, administered, barred, narrowed, deals) k)
    select k.id, k.organization_id, b.name, k.title, d.industry, d.location, d.summary, d.asking_price, d.currency, d.needs_nda, k.state, k.caller_role, k.side,
      k.exclusive_buyer_user_id, k.exclusivity_granted_at, k.exclusivity_expires_at, k.closed_at, k.created_at, k.updated_at,
      -- Each kind by an index that has nothing else.
      (case
          -- Nobody has to do anything about these any more; what was distributed can still be read.
          when d.state in ('closed', 'withdrawn') then 0
          when own.role = 'broker' then (select count(*) from public.questions q where q.deal_id = d.id and q.status in ('pending_broker_review', 'answered')
            and app.is_buyer_still(q.participant_id))
          when own.role = 'seller' then (select count(*) from public.questions q where q.deal_id = d.id and q.status = 'with_seller'
            and app.is_buyer_still(q.participant_id))
          else 0
        end
        + (select count(*) from public.questions q
          where own.side = 'buyer' and q.participant_id = own.principal_id and q.deal_id = d.id and q.status = 'distributed'
            and (r.read_until >= coalesce(q.distributed_at, '-infinity')) is not true))::int,
      (select count(*) from public.offers o where o.deal_id = d.id and o.is_current
        and (own.side in ('broker', 'seller') or own.side = 'buyer' and o.participant_id = own.principal_id))::int
    from known k
    join (select d.* from public.deals d where d.id = any (deals)) d on d.id = k.id
    join (select b.id, b.name from public.brokerages b where b.id = any (array(select known.organization_id from known))) b on b.id = k.organization_id
    left join (select o.deal_id, o.role, o.principal_id, o.side from vault.deals_of_people o
      where o.user_id = me and o.deal_id = any (deals) and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed)) own on own.deal_id = k.id
    left join (select r.deal_id, r.read_until from public.answer_readings r where r.user_id = me and r.deal_id = any (deals)) r on r.deal_id = d.id
    where own.side in ('broker', 'seller', 'buyer', 'viewer') or k.organization_id = any (administered);
end
$function$;
GRANT EXECUTE ON FUNCTION app.deal_rows(uuid[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.deal_scopes()
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN '{deals:read,deals:write,participants:read,participants:write,offers:read,ndas:read,questions:read,documents:read,documents:content,documents:write,qoe:read,qoe:write,conditions:read,conditions:write,findings:read,financing:read}'::text[];

CREATE OR REPLACE FUNCTION app.deals_acting_as(VARIADIC roles text[])
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  identity constant text := app.identity();
  deal constant text := split_part(identity, ',', 8);
begin
  if deal <> '' and split_part(identity, ',', 10) = any (roles) then
    return array[deal::uuid];
  elsif split_part(identity, ',', 1) = '' then
    return app.deals_of_key(identity, roles);
  elsif deal <> '' then
    return '{}';
  end if;
  return (select coalesce(array_agg(p.deal_id), '{}') from app.participations() p where p.role = any (roles));
end
$function$;
GRANT EXECUTE ON FUNCTION app.deals_acting_as(text[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.deals_as(VARIADIC roles text[])
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  identity constant text := app.identity();
  deal constant text := split_part(identity, ',', 8);
begin
  if deal <> '' and split_part(identity, ',', 12) = any (roles) then
    return array[deal::uuid];
  elsif split_part(identity, ',', 1) = '' then
    return app.deals_of_key(identity, roles);
  elsif deal <> '' then
    return '{}';
  end if;
  return (select coalesce(array_agg(p.deal_id), '{}') from app.participations() p where p.principal_role = any (roles));
end
$function$;
GRANT EXECUTE ON FUNCTION app.deals_as(text[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.deals_as_known(me uuid, administered uuid[], barred uuid[], narrowed uuid, seen uuid[])
 RETURNS TABLE(id uuid, organization_id uuid, title text, state text, caller_role text, side text, exclusive_buyer_user_id uuid, exclusivity_granted_at timestamp with time zone, exclusivity_expires_at timestamp with time zone, closed_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone, principal_id uuid, holds boolean)
 LANGUAGE sql
 STABLE
BEGIN ATOMIC
 WITH others AS (
          SELECT ARRAY( SELECT unnest(deals_as_known.seen) AS unnest
                 EXCEPT
                  SELECT o.deal_id
                    FROM vault.deals_of_people o
                   WHERE ((o.user_id = deals_as_known.me) AND (o.deal_id = ANY (deals_as_known.seen)) AND (o.organization_id <> ALL (deals_as_known.barred)) AND ((deals_as_known.narrowed IS NULL) OR (o.deal_id = deals_as_known.narrowed)))) AS deals
           WHERE (deals_as_known.administered <> '{}'::uuid[])
         )
  SELECT d.id,
     d.organization_id,
     d.title,
         CASE
             WHEN (k.lapsed AND (d.state = ANY (ARRAY['under_offer'::text, 'exclusivity'::text]))) THEN 'listed'::text
             WHEN k.knows_stage THEN COALESCE(d.stage, d.state)
             ELSE d.state
         END AS state,
         CASE
             WHEN (d.role = 'broker'::text) THEN 'broker_assigned'::text
             WHEN ((d.role = 'buyer'::text) AND k.shows_exclusivity AND (d.buyer_user_id = deals_as_known.me) AND k.runs) THEN 'exclusive_buyer'::text
             WHEN (d.role = ANY (ARRAY['seller'::text, 'buyer'::text, 'advisor'::text])) THEN 'participant'::text
             ELSE 'viewer'::text
         END AS "case",
         CASE
             WHEN (d.side = ANY (ARRAY['broker'::text, 'seller'::text, 'buyer'::text])) THEN d.side
             ELSE 'viewer'::text
         END AS "case",
         CASE
             WHEN k.shows_exclusivity THEN d.buyer_user_id
             ELSE NULL::uuid
         END AS "case",
         CASE
             WHEN k.shows_exclusivity THEN d.granted_at
             ELSE NULL::timestamp with time zone
         END AS "case",
         CASE
             WHEN k.shows_exclusivity THEN d.expires_at
             ELSE NULL::timestamp with time zone
         END AS "case",
     d.closed_at,
     d.created_at,
     GREATEST(d.updated_at,
         CASE
             WHEN k.knows_stage THEN d.stage_updated_at
             ELSE NULL::timestamp with time zone
         END) AS "greatest",
     d.principal_id,
     ((d.side = 'buyer'::text) AND k.of_the_exclusive_buyer AND k.runs)
    FROM (((( SELECT o.deal_id AS id,
             o.organization_id,
             o.title,
             o.state,
             o.closed_at,
             o.created_at,
             o.updated_at,
             o.stage,
             o.stage_updated_at,
             o.holder_id,
             o.buyer_user_id,
             o.granted_at,
             o.expires_at,
             o.role,
             o.principal_id,
             o.side
            FROM vault.deals_of_people o
           WHERE ((o.user_id = deals_as_known.me) AND (o.deal_id = ANY (deals_as_known.seen)) AND (o.organization_id <> ALL (deals_as_known.barred)) AND ((deals_as_known.narrowed IS NULL) OR (o.deal_id = deals_as_known.narrowed)))
         UNION ALL
          SELECT t.id,
             t.organization_id,
             t.title,
             t.state,
             t.closed_at,
             t.created_at,
             t.updated_at,
             g.state,
             g.updated_at,
             x.participant_id,
             x.buyer_user_id,
             x.granted_at,
             x.expires_at,
             NULL::text AS text,
             NULL::uuid AS uuid,
             NULL::text AS text
            FROM ((public.deals t
              LEFT JOIN ( SELECT s_1.deal_id,
                     s_1.state,
                     s_1.updated_at,
                     s_1.brokerage_id
                    FROM public.deal_stages s_1
                   WHERE (s_1.deal_id = ANY (( SELECT others.deals
                            FROM others)::uuid[]))) g ON ((g.deal_id = t.id)))
              LEFT JOIN ( SELECT e.id,
                     e.deal_id,
                     e.participant_id,
                     e.buyer_user_id,
                     e.granted_by,
                     e.granted_at,
                     e.expires_at,
                     e.ended_at,
                     e.offer_id,
                     e.brokerage_id,
                     e.changed_at
                    FROM public.exclusivities e
                   WHERE ((e.deal_id = ANY (( SELECT others.deals
                            FROM others)::uuid[])) AND (e.ended_at IS NULL))) x ON ((x.deal_id = t.id)))
           WHERE (t.id = ANY (( SELECT others.deals
                    FROM others)::uuid[]))) d
      CROSS JOIN LATERAL ( SELECT ((d.side = ANY (ARRAY['broker'::text, 'seller'::text, 'viewer'::text])) OR (d.organization_id = ANY (deals_as_known.administered))) AS of_the_deal,
             COALESCE((d.holder_id = d.principal_id), false) AS of_the_exclusive_buyer,
             COALESCE((d.expires_at > app.now()), false) AS runs) w)
      CROSS JOIN LATERAL ( SELECT (COALESCE(w.of_the_deal, false) OR ((d.side = 'buyer'::text) AND w.of_the_exclusive_buyer AND (w.runs OR (d.stage IS DISTINCT FROM 'exclusivity'::text)))) AS knows_stage,
             ((d.stage IS NOT NULL) AND (d.stage = 'exclusivity'::text) AND (NOT w.runs)) AS lapsed) s)
      CROSS JOIN LATERAL ( SELECT s.knows_stage,
             s.lapsed,
             w.of_the_exclusive_buyer,
             w.runs,
             ((COALESCE(w.of_the_deal, false) OR w.of_the_exclusive_buyer) AND (w.runs OR (s.knows_stage AND (d.stage IS NOT NULL) AND (d.stage <> 'exclusivity'::text)) OR (d.state = 'closed'::text))) AS shows_exclusivity) k);
END;

CREATE OR REPLACE FUNCTION app.deals_as_selected_buyer()
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(array_agg(p.deal_id), '{}')
    from app.participations() p
    join vault.selected_buyers s on s.participant_id = p.principal_id
    where p.principal_role = 'buyer');
end
$function$;
GRANT EXECUTE ON FUNCTION app.deals_as_selected_buyer() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.deals_for_key(patterns text[], in_state text, updated_since timestamp with time zone, after_at timestamp with time zone, after_id uuid, most integer)
 RETURNS TABLE(id uuid, title text, state text, organization_id uuid, industry text, location text, summary text, asking_price numeric, currency text, needs_nda boolean, exclusive_buyer_user_id uuid, exclusivity_granted_at timestamp with time zone, exclusivity_expires_at timestamp with time zone, closed_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_sort TO 'off'
AS $function$
#variable_conflict use_column
declare
  brokerage constant uuid := app.key_brokerage('deals:read');
  last_at constant timestamptz := coalesce(after_at, 'infinity');
  last_id constant uuid := coalesce(after_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
  changed uuid[];
begin
  patterns := (select array_agg(app.folded(p)) from unnest(patterns) p);
  if updated_since is not null then
    changed := array(
      (select d.id from public.deals d where d.organization_id = brokerage and d.keys_admitted and d.updated_at >= updated_since limit 1001)
      union
      (select g.deal_id from public.deal_stages g where g.brokerage_id = brokerage and g.updated_at >= updated_since limit 1001));
  end if;
  if cardinality(changed) <= 1000 then
    return query
      select d.id, d.title, d.state, d.organization_id, d.industry, d.location, d.summary, d.asking_price, d.currency, d.needs_nda,
        d.exclusive_buyer_user_id, d.exclusivity_granted_at, d.exclusivity_expires_at, d.closed_at, d.created_at, d.updated_at
      from unnest(changed) one cross join lateral (select t.* from vault.deals_told t where t.id = one limit 1) d
      where d.organization_id = brokerage and d.keys_admitted
        and (d.created_at, d.id) < (last_at, last_id)
        and (patterns is null or app.folded(d.title || coalesce(' ' || d.industry, '') || coalesce(' ' || d.location, '')) like all (patterns))
        and (in_state is null or d.state = in_state)
        and d.updated_at >= updated_since
      order by d.created_at desc, d.id desc
      limit most;
    return;
  end if;
  -- Of many that have changed some are found soon in the order of the list.
  return query
    select d.id, d.title, d.state, d.organization_id, d.industry, d.location, d.summary, d.asking_price, d.currency, d.needs_nda,
      d.exclusive_buyer_user_id, d.exclusivity_granted_at, d.exclusivity_expires_at, d.closed_at, d.created_at, d.updated_at
    from vault.deals_told d
    where d.organization_id = brokerage and d.keys_admitted
      and (d.created_at, d.id) < (last_at, last_id)
      and (patterns is null or app.folded(d.title || coalesce(' ' || d.industry, '') || coalesce(' ' || d.location, '')) like all (patterns))
      and (in_state is null or d.state = in_state)
      and (updated_since is null or d.updated_at >= updated_since)
    order by d.created_at desc, d.id desc
    limit most;
end
$function$;
GRANT EXECUTE ON FUNCTION app.deals_for_key(text[],text,timestamp with time zone,timestamp with time zone,uuid,integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.deals_held_exclusively()
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(array_agg(p.deal_id), '{}')
    from app.participations() p
    join public.exclusivities x on x.participant_id = p.principal_id
    where p.principal_role = 'buyer' and x.ended_at is null and x.expires_at > app.now());
end
$function$;
GRANT EXECUTE ON FUNCTION app.deals_held_exclusively() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.deals_in_sight(patterns text[] DEFAULT NULL::text[], dated boolean DEFAULT false)
 RETURNS TABLE(id uuid, organization_id uuid, title text, industry text, location text, asking_price numeric, state text, acts_as text, caller_role text, side text, exclusive_buyer_user_id uuid, exclusivity_granted_at timestamp with time zone, exclusivity_expires_at timestamp with time zone, closed_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone, active_at timestamp with time zone)
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  with found as materialized (select k.id, k.active_at from app.deal_keys(patterns, dated) k)
  select r.id, r.organization_id, r.title, r.industry, r.location, r.asking_price, r.state, null, r.caller_role, r.side, r.exclusive_buyer_user_id,
    r.exclusivity_granted_at, r.exclusivity_expires_at, r.closed_at, r.created_at, r.updated_at, f.active_at
  from app.deal_rows(array(select f.id from found f)) r join found f on f.id = r.id
$function$;
GRANT EXECUTE ON FUNCTION app.deals_in_sight(text[],boolean) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.deals_of_broker(broker uuid)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  me constant uuid := app.user_id();
  administered constant uuid[] := app.brokerages_as('admin');
begin
  if broker is null then
    return query select app.deals_without_broker();
    return;
  end if;
  return query
    select o.deal_id from vault.deals_of_people o
    where o.user_id = broker and o.role = 'broker' and app.client_id() is null
      and (o.organization_id = any (administered)
        or o.deal_id in (select m.deal_id from vault.deals_of_people m where m.user_id = me and m.role = 'broker'));
end
$function$;
GRANT EXECUTE ON FUNCTION app.deals_of_broker(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.deals_of_key(identity text, asked text[])
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  deal constant text := split_part(identity, ',', 8);
  brokerage constant uuid := nullif(split_part(identity, ',', 4), '');
  among constant uuid[] := nullif(current_setting('dealkeep.among_deals', true), '');
begin
  if brokerage is null or not string_to_array(split_part(identity, ',', 5), ' ') && asked then
    return '{}';
  end if;
  if deal <> '' then
    return array(select deal::uuid where among is null or deal::uuid = any (among));
  end if;
  if among is not null then
    return array(select one from unnest(among) one
      where (select d.organization_id = brokerage and d.keys_admitted from public.deals d where d.id = one));
  end if;
  return array(select d.id from public.deals d where d.organization_id = brokerage and d.keys_admitted);
end
$function$;

CREATE OR REPLACE FUNCTION app.deals_of_look(after bigint, reach bigint, kinds text[])
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return array(select distinct e.about_deal from public.change_events e
    where e.brokerage_id = app.identity_part(4)::uuid and e.seq > after and e.seq <= reach and e.about_deal is not null
      and (kinds is null or e.object_type = any (kinds)));
end
$function$;
GRANT EXECUTE ON FUNCTION app.deals_of_look(bigint,bigint,text[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.deals_run_alone(by_brokerage uuid, by_member uuid)
 RETURNS TABLE(id uuid, title text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return query
    select d.id, d.title from public.deals d
    join public.participants own on own.deal_id = d.id and own.user_id = by_member and own.role = 'broker' and own.status = 'active'
    where d.organization_id = by_brokerage and d.state not in ('closed', 'withdrawn')
      and by_brokerage = any (app.brokerages_as('admin')) and app.client_id() is null
      and not exists (select from public.participants p
        join public.users u on u.id = p.user_id and u.suspended_at is null
        join public.members m on m.brokerage_id = d.organization_id and m.user_id = p.user_id and m.status = 'active'
        where p.deal_id = d.id and p.user_id <> by_member and p.role = 'broker' and p.status = 'active')
    order by d.created_at desc, d.id desc;
end
$function$;
GRANT EXECUTE ON FUNCTION app.deals_run_alone(uuid,uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.deals_run_by(of_brokerage uuid, member uuid, most integer)
 RETURNS TABLE(id uuid, title text, alone boolean, number_of_all integer)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return query
    with run as (
      select o.deal_id, o.title, o.created_at from vault.deals_of_people o
      where o.user_id = member and o.organization_id = of_brokerage and o.role = 'broker' and o.state not in ('closed', 'withdrawn')
        and of_brokerage = any (app.brokerages_as('admin')) and app.client_id() is null),
    newest as (select r.* from run r order by r.created_at desc, r.deal_id desc limit most)
    select n.deal_id, n.title,
      not exists (select from public.participants p
        join public.members m on m.user_id = p.user_id and m.brokerage_id = of_brokerage and m.status = 'active'
        join public.users u on u.id = p.user_id and u.suspended_at is null
        where p.deal_id = n.deal_id and p.user_id <> member and p.role = 'broker' and p.status = 'active'),
      (select count(*)::integer from run)
    from newest n order by n.created_at desc, n.deal_id desc;
end
$function$;
GRANT EXECUTE ON FUNCTION app.deals_run_by(uuid,uuid,integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.deals_under_nda()
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(array_agg(distinct p.deal_id), '{}')
    from app.participations() p
    join vault.active_ndas n on n.participant_id = p.principal_id
    where p.principal_role = 'buyer');
end
$function$;
GRANT EXECUTE ON FUNCTION app.deals_under_nda() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.deals_with_known_seller()
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(array_agg(p.deal_id), '{}')
    from app.participations() p
    join public.deals d on d.id = p.deal_id
    where p.principal_role = 'buyer'
      and (not d.needs_nda or exists (select from vault.active_ndas n where n.participant_id = p.principal_id)));
end
$function$;
GRANT EXECUTE ON FUNCTION app.deals_with_known_seller() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.deals_without_broker()
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_nestloop TO 'off'
 SET enable_mergejoin TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  brokerage uuid;
  running uuid[];
begin
  if app.client_id() is not null then
    return;
  end if;
  foreach brokerage in array app.brokerages_as('admin') loop
    running := array(select m.user_id from public.members m where m.brokerage_id = brokerage and m.status = 'active');
    running := array(select u.id from public.users u where u.id = any (running) and u.suspended_at is null);
    return query
      select d.id from public.deals d
      where d.organization_id = brokerage and d.state not in ('closed', 'withdrawn')
        and not exists (select from vault.deals_of_people o
          where o.user_id = any (running) and o.organization_id = brokerage and o.role = 'broker' and o.deal_id = d.id);
  end loop;
end
$function$;
GRANT EXECUTE ON FUNCTION app.deals_without_broker() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.decide_offer(offer_id uuid, decision text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  deal constant uuid := app.lock_deal((select o.deal_id from public.offers o where o.id = decide_offer.offer_id));
  offer public.offers;
  granted timestamptz;
begin
  if deal is null then
    return null;
  end if;
  select o.* into offer from public.offers o where o.id = decide_offer.offer_id and o.deal_id = deal for share;
  if not offer.is_current then
    perform app.refuse('offer_superseded', 'The buyer has revised this offer since: look at the latest one.');
  end if;
  select x.granted_at into granted from public.exclusivities x
    where x.participant_id = offer.participant_id and x.ended_at is null
      and (x.expires_at > app.now() or app.actual_state(x.deal_id) in ('diligence', 'closing'));
  if granted is null and decide_offer.decision = 'accepted' then
    perform app.refuse('no_exclusivity', 'This buyer holds no exclusivity: accept the offer by granting it.');
  elsif granted is null and app.actual_state(deal) in ('draft', 'withdrawn') then
    perform app.refuse('no_offers_now', 'Offers are decided on while the deal is on the market: from listed to closing.');
  end if;
  if exists (select from public.offer_decisions c where c.offer_id = offer.id and c.decision = 'accepted' and c.decided_at >= granted) then
    perform app.refuse('offer_accepted', 'These terms are accepted already.');
  end if;
  if decide_offer.decision = 'accepted' then
    perform app.refuse_if_expired(offer);
  elsif exists (select from public.offer_decisions c where c.offer_id = offer.id and c.decision = 'declined') then
    perform app.refuse('offer_declined', 'This offer is declined already.');
  elsif exists (select from public.offer_decisions c where c.offer_id = offer.id and c.decision = 'accepted') then
    perform app.refuse('offer_accepted', 'These terms were accepted in an earlier exclusivity, which stays on record.');
  end if;
  insert into public.offer_decisions as c (offer_id, deal_id, participant_id, decision)
    values (offer.id, offer.deal_id, offer.participant_id, decide_offer.decision)
    on conflict on constraint offer_decisions_pkey do update
      set decision = excluded.decision, decided_by = excluded.decided_by, decided_at = excluded.decided_at;
  return offer.deal_id;
end
$function$;
GRANT EXECUTE ON FUNCTION app.decide_offer(uuid,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.delete_brokerage_part(of_brokerage uuid, most integer)
 RETURNS TABLE(brokerage uuid, name text, finished boolean)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
declare
  this vault.brokerage_deletions;
  chosen uuid[];
  people uuid[];
  part record;
  bodies text[];
  counted int;
  room int := most;
  parent uuid;
begin
  select d.* into this from vault.brokerage_deletions d
    where d.brokerage_id = of_brokerage and d.due_at <= app.now() and not exists (select from app.hold_on_brokerage(d.brokerage_id))
    for update skip locked;
  if not found then
    return;
  end if;
  brokerage := this.brokerage_id;
  finished := false;
  select b.name into name from public.brokerages b where b.id = brokerage;
  -- Nobody is told of each row: app.announce.
  perform set_config('dealkeep.deleting', 'on', true);

  -- First nobody gets at it any more, by a key, as a member or as somebody on a deal: its deals are there for minutes yet, or for as long as a legal hold lasts.
  if this.begun_at is null then
    select coalesce(array_agg(m.user_id), '{}') into people from public.members m where m.brokerage_id = brokerage;
    perform from public.users u where u.id = any (people) order by u.id for no key update;
    perform from public.members m where m.brokerage_id = brokerage order by m.user_id for update;
    -- Before the brokerage, as whoever takes up an invitation has its link before they are on the deal (app.keep_deals_of_people).
    perform from vault.invitations i join public.participants p on p.id = i.participant_id join public.deals l on l.id = p.deal_id
      where l.organization_id = brokerage order by i.digest for update of i;
    perform from public.brokerages b where b.id = brokerage for update;
    update vault.brokerage_deletions d set begun_at = app.now(), asked_by = null where d.brokerage_id = brokerage;
    update public.api_keys k set revoked_at = app.now() where k.brokerage_id = brokerage and k.revoked_at is null;
    delete from public.members m where m.brokerage_id = brokerage;
    delete from vault.deals_of_people o using public.participants p, public.deals l
      where l.organization_id = brokerage and p.deal_id = l.id and o.user_id = p.user_id and o.deal_id = p.deal_id;
    delete from vault.invitations i using public.participants p, public.deals l
      where l.organization_id = brokerage and p.deal_id = l.id and i.participant_id = p.id;
    insert into vault.brokerage_deletions (brokerage_id, due_at) select s.id, app.now() from public.brokerages s where s.sandbox_of = brokerage;
    counted := app.forget_unattached(people);
    update vault.brokerage_deletions d set people = d.people + counted where d.brokerage_id = brokerage;
    return next;
    return;
  end if;

  -- Then its deals, the first twenty at once, and when there are none any more what the brokerage itself has.
  select coalesce(array_agg(d.id), '{}') into chosen
    from (select l.id from public.deals l where l.organization_id = brokerage order by l.id limit 20) d;
  select coalesce(array_agg(distinct p.user_id), '{}') into people from public.participants p join public.users u on u.id = p.user_id and u.sandbox_id is null
    where p.deal_id = any (chosen);
  perform from public.users u where u.id = any (people) order by u.id for no key update;
  for part in
    select r.name, r.condition,
      exists (select from pg_catalog.pg_attribute a where a.attrelid = r.name::regclass and a.attname = 'storage_key') as has_bodies,
      exists (select from pg_catalog.pg_constraint k where k.conrelid = r.name::regclass and k.confrelid = k.conrelid) as refers_to_itself
    from app.rows_of_brokerage('any ($2)', true) r where r.name <> 'public.brokerages'
  loop
    if part.has_bodies then
      -- The bodies are cleared out of the store like those of uploads that failed.
      execute format('with gone as (delete from %1$s t where t.ctid = any (array(select t.ctid from %1$s t where %2$s limit $3))
          returning t.storage_key, t.body_cleared_at)
        select coalesce(array_agg(g.storage_key) filter (where g.body_cleared_at is null), ''{}''), count(*) from gone g', part.name, part.condition)
        into bodies, counted using case when chosen = '{}' then brokerage end, chosen, room;
      insert into vault.uploads (storage_key, begun_at) select b.key, app.now() - interval '3 days' from unnest(bodies) b (key)
        on conflict (storage_key) do update set begun_at = excluded.begun_at;
      update vault.brokerage_deletions d set documents = d.documents + counted where d.brokerage_id = brokerage;
    else
      execute format('delete from %1$s t where t.ctid = any (array(select t.ctid from %1$s t where %2$s limit $3))', part.name, part.condition)
        using case when chosen = '{}' then brokerage end, chosen, case when not part.refers_to_itself then room end;
      get diagnostics counted = row_count;
    end if;
    room := room - counted;
    exit when room <= 0;
  end loop;
  if room > 0 and chosen <> '{}' then
    delete from public.deals l where l.id = any (chosen);
    get diagnostics counted = row_count;
    update vault.brokerage_deletions d set deals = d.deals + counted where d.brokerage_id = brokerage;
  end if;
  if room <= 0 or chosen <> '{}' then
    counted := app.forget_unattached(people);
    update vault.brokerage_deletions d set people = d.people + counted where d.brokerage_id = brokerage;
    return next;
    return;
  end if;

  -- Webhooks of test keys are the sandbox's, while their keys are its brokerage's.
  delete from public.webhook_deliveries w where w.ctid = any (array(
    select d.ctid from public.webhook_deliveries d join public.webhook_endpoints e on e.id = d.endpoint_id where e.brokerage_id = brokerage limit room));
  get diagnostics counted = row_count;
  if counted >= room then
    return next;
    return;
  end if;
  delete from public.webhook_endpoints e where e.brokerage_id = brokerage;

  delete from vault.mail_counts m
    where app.counted_of(m.subject) @> array[brokerage::text] and (m.subject like '% for ' || brokerage or m.subject like '% from ' || brokerage || ' to %');
  delete from vault.brokerage_deletions d where d.brokerage_id = brokerage returning d.* into this;
  delete from public.users u where u.sandbox_id = brokerage;
  delete from public.brokerages b where b.id = brokerage returning b.sandbox_of into parent;
  if parent is not null then
    return next;
    return;
  end if;
  insert into public.audit_records (action, subject_id, outcome, details) values ('brokerage.delete', brokerage::text, 'done',
    jsonb_build_object('deals', this.deals, 'documents', this.documents, 'people', this.people, 'asked_at', this.asked_at));
  finished := true;
  return next;
end
$function$;
GRANT EXECUTE ON FUNCTION app.delete_brokerage_part(uuid,integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.delete_client(client_id uuid, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.client_id() is not null then
    return false;
  end if;
  update public.connected_clients c set deleted_at = app.now()
    where c.id = delete_client.client_id and c.deleted_at is null
      and ((c.brokerage_id is null and c.created_by = app.user_id()) or c.brokerage_id = any (app.brokerages_as('admin')));
  if not found then
    return false;
  end if;
  perform app.revoke_families(null, delete_client.client_id);
  delete from public.tool_grants g where g.client_id = delete_client.client_id;
  perform app.audit('client.delete', delete_client.client_id::text, 'done',
    app.brokerage_of_grant(app.user_id(), delete_client.client_id), null, address, request_id, '{}');
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.delete_client(uuid,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.delete_deliveries(of_endpoint uuid, most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
AS $function$
declare
  gone int;
begin
  delete from public.webhook_deliveries d where d.ctid = any (array(
    select o.ctid from public.webhook_deliveries o where o.endpoint_id = of_endpoint limit most for update skip locked));
  get diagnostics gone = row_count;
  return gone;
end
$function$;

CREATE OR REPLACE FUNCTION app.deliveries_to_try(endpoint uuid, succeeded_at timestamp with time zone)
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  now constant timestamptz := app.now();
  oldest record;
  latest uuid;
begin
  if succeeded_at is null or succeeded_at <= now - interval '3 days' then
    select d.id, d.first_attempt_at, d.next_attempt_at into oldest from public.webhook_deliveries d
      where d.endpoint_id = deliveries_to_try.endpoint and d.state = 'waiting' and d.next_attempt_at is not null and d.first_attempt_at is not null
      order by d.first_attempt_at, d.nr limit 1;
    if oldest.first_attempt_at <= now - interval '3 days' and oldest.next_attempt_at <= now then
      return array[oldest.id];
    end if;
  end if;
  select d.id into latest from public.webhook_deliveries d
    where d.endpoint_id = deliveries_to_try.endpoint and d.state = 'waiting' and d.next_attempt_at <= now and d.first_attempt_at is null
    order by d.first_attempt_at desc, d.nr desc limit 1;
  return array_remove(latest || array(
    select w.id from (
      select u.*, row_number() over (partition by case when u.first_attempt_at is null then u.type end order by u.next_attempt_at, u.nr) as turn
      from (
        (select d.id, d.type, d.first_attempt_at, d.next_attempt_at, d.nr from public.webhook_deliveries d
          where d.endpoint_id = deliveries_to_try.endpoint and d.state = 'waiting' and d.next_attempt_at <= now
          order by d.next_attempt_at, d.nr limit 4)
        union
        -- No more than these are read, however many wait.
        (select d.id, d.type, d.first_attempt_at, d.next_attempt_at, d.nr from public.webhook_deliveries d
          where d.endpoint_id = deliveries_to_try.endpoint and d.state = 'waiting' and d.next_attempt_at <= now and d.first_attempt_at is null
          order by d.first_attempt_at, d.nr limit 500)) u
      where u.id is distinct from latest) w
    order by w.turn, w.next_attempt_at, w.nr limit 3), null);
end
$function$;

CREATE OR REPLACE FUNCTION app.delivery_of(person uuid, of_kind text, deal uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  levels constant text[] := '{off,app,daily,at_once}';
  by_kind int;
  by_deal int;
  is_security boolean;
begin
  select array_position(levels, coalesce(c.delivery, k.delivery)), k.security into by_kind, is_security
    from app.notification_kinds k
    left join vault.notification_choices c on c.kind = k.kind and c.user_id = person
    where k.kind = of_kind;
  if is_security then
    return levels[greatest(by_kind, 2)];
  end if;
  select array_position(levels, c.delivery) into by_deal
    from vault.deal_notification_choices c where c.user_id = person and c.deal_id = deal;
  return levels[least(by_kind, by_deal)];
end
$function$;

CREATE OR REPLACE FUNCTION app.delivery_state()
 RETURNS TABLE(changes_waiting bigint, changes_since timestamp with time zone, deliveries_waiting bigint, deliveries_failing bigint, oldest_delivery_at timestamp with time zone, webhooks_on bigint, webhooks_failed bigint)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select greatest(0, case when o.is_called then o.last_value else o.last_value - 1 end - s.published), s.mark_at,
    d.waiting, d.failing, d.oldest, w.turned_on, w.failed
  from vault.change_stream s
  cross join vault.change_order o
  cross join (select count(*) filter (where e.state = 'on') as turned_on, count(*) filter (where e.off_reason = 'failing') as failed from public.webhook_endpoints e) w
  cross join (
    select count(*) as waiting, count(*) filter (where c.attempts > 0) as failing, min(c.created_at) as oldest
    from (
      select q.attempts, q.created_at
      from public.webhook_endpoints e
      cross join lateral (select from public.webhook_deliveries f where f.endpoint_id = e.id and f.state = 'waiting' limit 1) first
      cross join lateral (select r.attempts, r.created_at from public.webhook_deliveries r
        where r.endpoint_id = e.id and r.state = 'waiting' and app.is_key_in_force(e.key_id) limit 10000) q
      where e.state = 'on' limit 100000) c) d
$function$;
GRANT EXECUTE ON FUNCTION app.delivery_state() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.deny_client(client_id uuid, redirect_uri text, scopes text[], address inet, request_id text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  person constant uuid := app.user_id();
begin
  if person is null or app.client_id() is not null then
    return 'signed_out';
  end if;
  if not app.client_takes(client_id, person, redirect_uri) then
    return 'client_refused';
  end if;
  perform app.audit('consent.deny', deny_client.client_id::text, 'denied', app.brokerage_of_grant(person, deny_client.client_id),
    null, address, request_id, jsonb_build_object('scopes', scopes));
  return 'denied';
end
$function$;
GRANT EXECUTE ON FUNCTION app.deny_client(uuid,text,text[],inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.deny_document_client(url text, scopes text[], address inet, request_id text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  person constant uuid := app.user_id();
begin
  if person is null or app.client_id() is not null then
    return 'signed_out';
  end if;
  perform app.audit('consent.deny', null, 'denied', app.brokerage_of_grant(person, null), null, address, request_id,
    jsonb_build_object('scopes', scopes, 'document', url));
  return 'denied';
end
$function$;
GRANT EXECUTE ON FUNCTION app.deny_document_client(text,text[],inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.diligence_deals()
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(array_agg(p.deal_id), '{}')
    from app.participations() p
    where p.role in ('broker', 'seller')
      or (p.principal_role = 'buyer' and exists (select from vault.active_ndas n where n.participant_id = p.principal_id)));
end
$function$;
GRANT EXECUTE ON FUNCTION app.diligence_deals() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.disconnect_client(client_id uuid, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  person constant uuid := app.user_id();
  revoked int;
begin
  if person is null or client_id is null then
    return false;
  end if;
  revoked := app.revoke_families(person, disconnect_client.client_id);
  delete from public.tool_grants g where g.user_id = person and g.client_id = disconnect_client.client_id;
  if revoked > 0 then
    perform app.audit('client.disconnect', disconnect_client.client_id::text, 'done',
      app.brokerage_of_grant(person, disconnect_client.client_id), null, address, request_id, jsonb_build_object('grants', revoked));
  end if;
  return revoked > 0;
end
$function$;
GRANT EXECUTE ON FUNCTION app.disconnect_client(uuid,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.document_client(url text)
 RETURNS TABLE(id uuid, name text, redirect_uris text[], disabled boolean, created_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return query
    select c.id, c.name, c.redirect_uris, c.disabled, c.created_at from public.connected_clients c
    where c.metadata_url = document_client.url and c.created_by = app.user_id() and c.deleted_at is null;
end
$function$;
GRANT EXECUTE ON FUNCTION app.document_client(text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.document_is_visible(deal_id uuid, confidentiality text, sees_deal boolean, deal_side uuid[], under_nda uuid[], held_exclusively uuid[])
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((deal_id = ANY (deal_side)) OR ((confidentiality = 'public'::text) AND sees_deal) OR ((confidentiality = 'nda_gated'::text) AND (deal_id = ANY (under_nda))) OR ((confidentiality = 'selected_buyer_only'::text) AND (deal_id = ANY (held_exclusively))));
GRANT EXECUTE ON FUNCTION app.document_is_visible(uuid,text,boolean,uuid[],uuid[],uuid[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.document_opens_to(confidentiality text, deal uuid, side text, principal uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN app.document_is_visible(deal, confidentiality, true, CASE WHEN (side = ANY (ARRAY['broker'::text, 'seller'::text])) THEN ARRAY[deal] ELSE NULL::uuid[] END, CASE WHEN ((side = 'buyer'::text) AND (EXISTS (SELECT FROM vault.active_ndas n WHERE (n.participant_id = document_opens_to.principal)))) THEN ARRAY[deal] ELSE NULL::uuid[] END, CASE WHEN ((side = 'buyer'::text) AND (EXISTS (SELECT FROM public.exclusivities x WHERE ((x.participant_id = document_opens_to.principal) AND (x.ended_at IS NULL) AND (x.expires_at > app.now()))))) THEN ARRAY[deal] ELSE NULL::uuid[] END);

CREATE OR REPLACE FUNCTION app.document_store(candidate uuid, OUT store_id uuid, OUT is_marked boolean, OUT is_mine boolean)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  insert into vault.document_store as s (id, claimed_at) values (candidate, app.now())
    on conflict (only_one) do update set id = excluded.id, claimed_at = excluded.claimed_at
    where s.marked_at is null and s.claimed_at < app.now() - interval '30 seconds';
  select s.id, s.marked_at is not null, s.id = candidate into store_id, is_marked, is_mine from vault.document_store s;
end
$function$;
GRANT EXECUTE ON FUNCTION app.document_store(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.document_store_marked(store_id uuid)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
  update vault.document_store set marked_at = app.now() where id = store_id and marked_at is null
$function$;
GRANT EXECUTE ON FUNCTION app.document_store_marked(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.documents_in_sight(deal_place timestamp with time zone, deal uuid, place timestamp with time zone, document uuid, at_most integer)
 RETURNS TABLE(id uuid, filename text, category text, confidentiality text, size_bytes double precision, uploaded_at timestamp with time zone, source text, media_type text, deal_id uuid, deal_title text, deal_created_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_nestloop TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  administered constant uuid[] := app.brokerages_as('admin');
  last_id constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  candidates uuid[];
  begun int := 0;
  of_part int := at_most;
  told int := 0;
  more int;
begin
  candidates := array(
    select c.id from (
      select o.deal_id as id, o.created_at from vault.deals_of_people o
      where o.user_id = me and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed)
      union
      select d.id, d.created_at from public.deals d where d.organization_id = any (administered)) c
    where (c.created_at, c.id) <= (coalesce(deal_place, 'infinity'), coalesce(deal, last_id))
    order by c.created_at desc, c.id desc);
  -- One part of them after the other, until there are enough.
  while told < at_most and begun < cardinality(candidates) loop
    return query
      select f.id, f.filename, f.category, f.confidentiality, f.size_bytes::float8, f.uploaded_at, f.source, f.media_type, s.id, s.title, s.created_at
      from (
        select k.id, k.title, k.created_at, k.side in ('broker', 'seller') as whole,
          array['public'] || case when k.side = 'buyer' and exists (select from vault.active_ndas n where n.participant_id = k.principal_id) then array['nda_gated'] end
            || case when k.holds then array['selected_buyer_only'] end as levels,
          case when k.id = deal then place else 'infinity' end as before, case when k.id = deal then document else last_id end as before_id
        from app.deals_as_known(me, administered, barred, narrowed, candidates[begun + 1 : begun + of_part]) k
        order by k.created_at desc, k.id desc offset 0) s
      cross join lateral (
        (select d.id, d.filename, d.category, d.confidentiality, d.size_bytes, d.uploaded_at, 'simple' as source, d.media_type from public.documents d
          where s.whole and d.deal_id = s.id and d.removed_at is null and (d.uploaded_at, d.id) < (s.before, s.before_id)
          order by d.uploaded_at desc, d.id desc limit at_most)
        union all
        select d.* from unnest(case when not s.whole then s.levels end) level cross join lateral (
          select d.id, d.filename, d.category, d.confidentiality, d.size_bytes, d.uploaded_at, 'simple', d.media_type from public.documents d
          where d.deal_id = s.id and d.confidentiality = level collate "C" and d.removed_at is null and (d.uploaded_at, d.id) < (s.before, s.before_id)
          order by d.uploaded_at desc, d.id desc limit at_most) d
        union all
        (select d.id, d.filename, d.category, d.confidentiality, d.size_bytes, d.uploaded_at, 'production', d.media_type from public.production_documents d
          where s.whole and d.deal_id = s.id and d.removed_at is null and (d.uploaded_at, d.id) < (s.before, s.before_id)
          order by d.uploaded_at desc, d.id desc limit at_most)
        union all
        select d.* from unnest(case when not s.whole then s.levels end) level cross join lateral (
          select d.id, d.filename, d.category, d.confidentiality, d.size_bytes, d.uploaded_at, 'production', d.media_type from public.production_documents d
          where d.deal_id = s.id and d.confidentiality = level collate "C" and d.removed_at is null and (d.uploaded_at, d.id) < (s.before, s.before_id)
          order by d.uploaded_at desc, d.id desc limit at_most) d
        order by uploaded_at desc, id desc limit at_most) f
      limit at_most - told;
    get diagnostics more = row_count;
    told := told + more;
    begun := begun + of_part;
    of_part := of_part * 8;
  end loop;
end
$function$;
GRANT EXECUTE ON FUNCTION app.documents_in_sight(timestamp with time zone,uuid,timestamp with time zone,uuid,integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.documents_to_restore(deal uuid)
 RETURNS TABLE(id uuid, source text, filename text, removed_at timestamp with time zone, removed_by uuid)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select r.id, r.source, r.filename, r.removed_at,
    (select a.user_id from public.audit_records a
      where a.deal_id = deal and a.at = r.removed_at and a.action = 'document.remove' and a.subject_id = r.id::text order by a.id limit 1)
  from (
    (select d.id, 'simple' as source, d.filename, d.removed_at from public.documents d
      where d.deal_id = deal and d.removed_at > app.now() - interval '1 hour' order by d.removed_at desc, d.id desc limit 500)
    union all
    (select d.id, 'production', d.filename, d.removed_at from public.production_documents d
      where d.deal_id = deal and d.removed_at > app.now() - interval '1 hour' order by d.removed_at desc, d.id desc limit 500)
    order by removed_at desc, id desc limit 500) r
  where deal = any ((select app.deals_acting_as('broker', 'seller'))::uuid[])
    and exists (select from public.deals l where l.id = deal and l.state <> 'closed')
  order by r.removed_at desc, r.id desc
$function$;
GRANT EXECUTE ON FUNCTION app.documents_to_restore(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.empty_sandbox(sandbox uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  part record;
begin
  delete from vault.idempotency_keys i using public.api_keys k, public.brokerages s
    where s.id = sandbox and k.brokerage_id = s.sandbox_of and k.environment = 'test' and i.key_id = k.id
      -- Not that of the request which asks for this.
      and num_nonnulls(i.answer, i.contact_id) > 0;
  for part in
    select r.name, r.condition,
        exists (select from pg_catalog.pg_attribute a where a.attrelid = r.name::regclass and a.attname = 'storage_key') as has_bodies
      from app.rows_of_brokerage('any (array(select d.id from public.deals d where d.organization_id = $1))', false) r
    where r.name not in ('public.brokerages', 'public.audit_records', 'public.change_events', 'vault.purged_changes', 'public.webhook_endpoints',
      'public.webhook_deliveries', 'vault.webhook_secrets')
  loop
    if part.has_bodies then
      -- The bodies are cleared out of the store like those of uploads that failed.
      execute format('with gone as (delete from %s t where %s returning t.storage_key, t.body_cleared_at)
          insert into vault.uploads (storage_key, begun_at)
            select g.storage_key, app.now() - interval ''3 days'' from gone g where g.body_cleared_at is null and g.storage_key not like ''sandbox-%%''
            on conflict (storage_key) do update set begun_at = excluded.begun_at', part.name, part.condition) using sandbox;
    else
      execute format('delete from %s t where %s', part.name, part.condition) using sandbox;
    end if;
  end loop;
  delete from vault.mail_counts m
    where app.counted_of(m.subject) && array[sandbox::text, split_part(app.sandbox_address(sandbox, ''), '@', 2)]
      and (m.subject like '% for ' || sandbox or m.subject like '%' || app.sandbox_address(sandbox, ''));
  delete from public.users u where u.sandbox_id = sandbox;
end
$function$;

CREATE OR REPLACE FUNCTION app.end_calendar_link(address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  delete from vault.calendar_links l where l.user_id = app.user_id() and app.client_id() is null;
  if not found then
    return false;
  end if;
  perform app.record(app.user_id(), 'calendar_link.remove', 'done', null, address, request_id);
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.end_calendar_link(inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.end_calendar_link_of()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  delete from vault.calendar_links l where l.user_id = new.id;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.end_exclusivity_with_deal()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.actual_state(new.id) in ('draft', 'listed', 'under_offer', 'withdrawn') then
    update public.exclusivities x set ended_at = app.now() where x.deal_id = new.id and x.ended_at is null;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.end_grants_of_client(client_id uuid, keeping uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  person uuid;
begin
  for person in
    select f.user_id from vault.token_families f
      where f.client_id = end_grants_of_client.client_id and f.revoked_at is null
    union select c.user_id from vault.authorization_codes c where c.client_id = end_grants_of_client.client_id
    union select g.user_id from public.tool_grants g where g.client_id = end_grants_of_client.client_id
  loop
    if person is distinct from keeping then
      perform app.revoke_families(person, end_grants_of_client.client_id);
      delete from public.tool_grants g where g.user_id = person and g.client_id = end_grants_of_client.client_id;
    end if;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION app.end_grants_with_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if (new.disabled and not old.disabled) or not new.redirect_uris @> old.redirect_uris then
    perform app.end_grants_of_client(new.id, null);
  end if;
  if old.brokerage_id is not null and new.brokerage_id is distinct from old.brokerage_id then
    perform app.end_grants_of_client(new.id, new.created_by);
  end if;
  if new.name <> old.name then
    perform app.end_grants_of_client(new.id, app.user_id());
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.end_grants_without_factor(people uuid[], request_id text, OUT grants integer, OUT calendar_links integer)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  -- What is given meanwhile is waited for, or waits and finds that a factor is asked for. A code from before finds the same.
  perform from public.users u where u.id = any (people) order by u.id for no key update;
  with families as (
    update vault.token_families f set revoked_at = app.now()
      where f.user_id = any (people) and not f.factor_shown and f.revoked_at is null and f.ends_at > app.now() returning f.user_id),
  links as (delete from vault.calendar_links l where l.user_id = any (people) and not l.factor_shown returning l.user_id),
  ended as (
    select e.user_id, sum(e.families)::int as grants, sum(e.links)::int as links
    from (select f.user_id, 1, 0 from families f union all select l.user_id, 0, 1 from links l) e (user_id, families, links)
    group by e.user_id),
  told as (
    -- As app.record() does, for each of them: it is told to them alone, and without the address of whoever caused it.
    insert into public.audit_records (user_id, action, outcome, details, request_id, noted)
      select e.user_id, 'consent.end', 'done', jsonb_build_object('grants', e.grants, 'calendar_links', e.links),
        end_grants_without_factor.request_id, true
      from ended e)
  select coalesce(sum(e.grants), 0), coalesce(sum(e.links), 0) into grants, calendar_links from ended e;
end
$function$;

CREATE OR REPLACE FUNCTION app.end_member_sessions(of_brokerage uuid, member uuid, address inet, request_id text)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  person uuid;
  alive int;
  ended jsonb;
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return null;
  end if;
  select m.user_id into person from public.members m
    where m.brokerage_id = of_brokerage and m.person_id = member and m.status = 'active';
  if not found then
    return null;
  end if;
  perform app.check_recent_sign_in();
  select count(*) into alive from vault.live_sessions l where l.user_id = person;
  ended := jsonb_build_object('sessions', alive,
    'grants', (select count(*) from vault.token_families f where f.user_id = person and f.revoked_at is null and f.ends_at > app.now()),
    'calendar_links', (select count(*) from vault.calendar_links l where l.user_id = person));
  perform app.audit('member.end_sessions', member::text, 'done', of_brokerage, null, address, request_id, ended);
  -- Theirs alone, without the address of the admin.
  perform app.record(person, 'session.end', 'done', '{"by": "admin"}'::jsonb || ended, null, request_id);
  perform app.queue_event('sessions_ended', null, null, of_brokerage, app.user_id(), person);
  perform app.end_sessions_of(person);
  return alive;
end
$function$;
GRANT EXECUTE ON FUNCTION app.end_member_sessions(uuid,uuid,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.end_of(day date)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((((day + 1))::timestamp without time zone + '12:00:00'::interval) AT TIME ZONE 'UTC'::text);
GRANT EXECUTE ON FUNCTION app.end_of(date) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.end_parts_of_member()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  leaves constant boolean := new.status <> 'active';
  client uuid;
  left_deal record;
  invited uuid;
begin
  if old.role = 'admin' then
    perform from public.brokerages b where b.id = new.brokerage_id for no key update;
  end if;
  -- Who is in the brokerage is up to its admins, and who is on its deals to its admins and brokers: what they began and nobody answered ends with that.
  if leaves or old.role = 'admin' then
    perform from public.members m
      where m.brokerage_id = new.brokerage_id and m.user_id = any (array(select app.member_invitations_made(new.user_id, new.brokerage_id)))
      order by m.user_id for update;
    for invited in
      update public.members m set status = 'removed'
        where m.brokerage_id = new.brokerage_id and m.user_id = any (array(select app.member_invitations_made(new.user_id, new.brokerage_id)))
          and m.status = 'invited'
        returning m.person_id
    loop
      perform app.audit('member.remove', invited::text, 'done', new.brokerage_id, null, null, null, '{"withdrawn": true}');
    end loop;
  end if;
  perform app.lock_parts(new.user_id, new.brokerage_id);
  for left_deal in
    update public.participants p set status = 'removed'
      from public.deals d
      where d.organization_id = new.brokerage_id and p.deal_id = d.id and p.user_id = new.user_id and p.status <> 'removed'
        and ((leaves and p.role in ('broker', 'advisor', 'viewer')) or (new.role = 'staff' and p.role = 'broker'))
      returning p.id, p.deal_id
  loop
    perform app.audit('participant.remove', left_deal.id::text, 'done', null, left_deal.deal_id, null, null,
      case when new.user_id = app.user_id() then '{"left": true}'::jsonb else '{}' end);
  end loop;
  if leaves or new.role = 'staff' then
    for left_deal in
      update public.participants p set status = 'removed'
        where p.id = any (array(select app.deal_invitations_made(new.user_id, new.brokerage_id))) and p.status = 'invited'
        returning p.id, p.deal_id
    loop
      perform app.audit('participant.remove', left_deal.id::text, 'done', null, left_deal.deal_id, null, null, '{"withdrawn": true}');
    end loop;
  end if;
  if leaves then
    for client in select c.id from public.connected_clients c where c.brokerage_id = new.brokerage_id loop
      perform app.revoke_families(new.user_id, client);
      delete from public.tool_grants g where g.user_id = new.user_id and g.client_id = client;
    end loop;
    -- Keys before webhooks and digests, as whoever rotates one locks them.
    perform from public.api_keys k
      where k.brokerage_id = new.brokerage_id and k.id in (select d.key_id from vault.api_key_digests d where d.issued_by = new.user_id)
      order by k.id for no key update;
  end if;
  -- Before they end below.
  perform app.queue_event('api_key_stopped', null, 'api_keys', k.id, null, null)
    from app.keys_held_by(new.user_id, new.brokerage_id) k
    where app.scopes_of(k.scopes, old.role) <> case when leaves then '{}' else app.scopes_of(k.scopes, new.role) end
      and not exists (select from public.users u where u.id = new.user_id and u.suspended_at is not null);
  if leaves or old.role = 'admin' then
    perform app.turn_off_webhooks(new.user_id, new.brokerage_id, null);
  end if;
  if leaves then
    -- After the webhooks that may have been added with them. Whoever comes back is not given them again.
    update vault.api_key_digests d set valid_until = app.now()
      from public.api_keys k
      where d.issued_by = new.user_id and (d.valid_until is null or d.valid_until > app.now()) and k.id = d.key_id and k.brokerage_id = new.brokerage_id;
    update public.api_keys k set previous_last_four = null, previous_valid_until = null
      where k.brokerage_id = new.brokerage_id and k.previous_valid_until > app.now()
        and exists (select from vault.api_key_digests d where d.key_id = k.id and d.issued_by = new.user_id)
        and not exists (select from vault.api_key_digests d where d.key_id = k.id and d.valid_until > app.now());
  end if;
  delete from public.deal_opt_ins o using public.deals d
    where d.id = o.deal_id and d.organization_id = new.brokerage_id and o.user_id = new.user_id
      and not exists (select from public.participants p
        where p.deal_id = d.id and p.user_id = new.user_id and p.status = 'active');
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.end_places_without_nda()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if not exists (select from vault.active_ndas n where n.participant_id = new.participant_id) then
    delete from public.qoe_workspace_members w using public.participants p, public.participants side
      where side.id = new.participant_id and side.role = 'buyer' and p.deal_id = side.deal_id and coalesce(p.advises, p.id) = side.id
        and w.deal_id = p.deal_id and w.participant_id = p.id;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.end_session(session bytea, other_id uuid, address inet, request_id text)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  this vault.live_sessions;
  ended int;
begin
  select r.* into this from app.recent_session(session) r;
  update vault.sessions s set ended_at = app.now()
    where s.user_id = this.user_id and s.id <> this.id and s.ended_at is null and (other_id is null or s.id = other_id);
  get diagnostics ended = row_count;
  if ended > 0 then
    perform app.record(this.user_id, 'session.end', 'done', jsonb_build_object('sessions', ended), address,
      request_id);
  end if;
  return ended;
end
$function$;
GRANT EXECUTE ON FUNCTION app.end_session(bytea,uuid,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.end_sessions_of(person uuid, kept bytea DEFAULT NULL::bytea)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  -- What begins meanwhile is waited for, or waits and finds that this has ended it.
  perform from public.users u where u.id = person for no key update;
  update vault.sessions s set ended_at = app.now() where s.user_id = person and s.digest is distinct from kept and s.ended_at is null;
  delete from vault.sign_in_steps s where s.user_id = person;
  delete from vault.known_devices k where k.user_id = person;
  delete from vault.calendar_links l where l.user_id = person;
  delete from vault.address_changes a where a.user_id = person;
  perform app.revoke_families(person, null);
end
$function$;

CREATE OR REPLACE FUNCTION app.end_sessions_with_factor(this vault.live_sessions, address inet, request_id text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  ended int;
begin
  update vault.sessions s set ended_at = app.now()
    where s.user_id = this.user_id and s.id <> this.id and s.ended_at is null and s.second_factor_at is not null;
  get diagnostics ended = row_count;
  if ended > 0 then
    perform app.record(this.user_id, 'session.end', 'done', jsonb_build_object('sessions', ended), address, request_id);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION app.enter(user_id uuid, client_id uuid, key_id uuid, brokerage_id uuid, scopes text[], session_id uuid DEFAULT NULL::uuid, barred uuid[] DEFAULT '{}'::uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  identity constant text := concat_ws(',', coalesce(user_id::text, ''), coalesce(client_id::text, ''),
    coalesce(key_id::text, ''), coalesce(case (select k.environment from public.api_keys k where k.id = enter.key_id) when 'test' then app.brokerage_of_key(enter.key_id)
      else enter.brokerage_id end::text, ''),
    coalesce(array_to_string(scopes, ' '), ''), coalesce(session_id::text, ''), array_to_string(barred, ' '));
  secret bytea;
begin
  select s.secret into secret from vault.seal s;
  perform set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', app.seal_of(identity, secret), true);
end
$function$;

CREATE OR REPLACE FUNCTION app.enter_as_person(person uuid, client_id uuid, scopes text[], session_id uuid, shown boolean, asking uuid[], administered uuid[], of_table text, record uuid)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  barred uuid[] := asking;
  identity text;
begin
  if asking <> '{}' and shown and app.has_second_factor(person) then
    barred := '{}';
  end if;
  identity := concat(person, ',', client_id, ',,,', array_to_string(scopes, ' '), ',', session_id, ',', array_to_string(barred, ' '));
  if of_table is not null then
    identity := identity || ',' || app.standing(person, barred,
      case when barred = '{}' then administered else array(select b from unnest(administered) b where not b = any (barred)) end,
      case of_table when 'deals' then record else app.deal_of(of_table, record) end);
  end if;
  perform app.seal(identity);
end
$function$;

CREATE OR REPLACE FUNCTION app.enter_for_deliveries(endpoint uuid, by_claim uuid, by_url text, by_secrets uuid[])
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  key public.api_keys;
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Webhooks are delivered by the worker.');
  end if;
  select k.* into key from public.webhook_endpoints e join public.api_keys k on k.id = e.key_id
    where e.id = endpoint and e.claim = by_claim and e.claimed_until > app.now() and e.state = 'on' and e.url = by_url
      and by_secrets = array(select s.id from vault.webhook_secrets s
        where s.endpoint_id = e.id and (s.ends_at is null or s.ends_at > app.now()) order by s.created_at desc, s.id)
      and app.is_key_in_force(k.id);
  if key.id is null then
    return false;
  end if;
  perform app.enter(null, null, key.id, key.brokerage_id, app.scopes_in_force(key.id));
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.enter_for_deliveries(uuid,uuid,text,uuid[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.enter_for_next_webhook(OUT endpoint uuid, OUT place bigint, OUT types text[])
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET lock_timeout TO '1s'
AS $function$
declare
  now constant timestamptz := app.now();
  published bigint;
  this public.webhook_endpoints;
  key public.api_keys;
  scopes text[];
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Webhooks are delivered by the worker.');
  end if;
  select e.* into this from public.webhook_endpoints e
    where e.state = 'on' and e.queue_at <= now + interval '1 minute' order by e.queue_at limit 1 for no key update skip locked;
  if this.id is null then
    -- Somebody takes or notes deliveries of each that is left, or writes them: for a moment, or for long, and then the next look finds it.
    begin
      select e.* into this from public.webhook_endpoints e
        where e.state = 'on' and e.id = coalesce(
          (select o.id from public.webhook_endpoints o where o.state = 'on' and o.queue_at <= now + interval '1 minute' order by o.queue_at limit 1),
          (select s.webhooks_held[1] from vault.change_stream s))
        for no key update;
    exception when lock_not_available then
      return;
    end;
  end if;
  if this.id is null then
    return;
  end if;
  endpoint := this.id;
  -- Read once it is locked: what is published later puts it into the line again.
  published := (select s.published from vault.change_stream s);
  scopes := app.scopes_in_force(this.key_id);
  if scopes is null then
    update public.webhook_endpoints e set queue_at = case when app.has_key_ended(this.key_id) then 'infinity' else now + interval '10 minutes' end, freed = null
      where e.id = this.id;
  elsif not exists (select from public.change_events c where c.brokerage_id = this.brokerage_id and c.seq > this.place and c.seq <= published) then
    update public.webhook_endpoints e set place = greatest(e.place, published), queue_at = null, freed = null where e.id = this.id;
  elsif 10000 <= (select count(*) from (select from public.webhook_deliveries d where d.endpoint_id = this.id and d.state = 'waiting' limit 10000) w) then
    update public.webhook_endpoints e set queue_at = now + interval '1 hour', freed = 0 where e.id = this.id;
  else
    select k.* into key from public.api_keys k where k.id = this.key_id;
    perform app.enter(null, null, key.id, key.brokerage_id, scopes);
    place := this.place;
    types := this.types;
  end if;
end
$function$;
GRANT EXECUTE ON FUNCTION app.enter_for_next_webhook() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.enter_with_api_key(presented bytea, of_table text DEFAULT NULL::text, record uuid DEFAULT NULL::uuid)
 RETURNS TABLE(key_id uuid, brokerage_id uuid, scopes text[], ceiling integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET enable_seqscan TO 'off'
AS $function$
declare
  secret bytea;
  identity text;
begin
  select k.key_id, k.brokerage_id, k.scopes, k.ceiling, (select s.secret from vault.seal s) into key_id, brokerage_id, scopes, ceiling, secret
  from vault.key_in_force(presented) k;
  if brokerage_id is null then
    return;
  end if;
  identity := concat(',,', key_id, ',', brokerage_id, ',', array_to_string(scopes, ' '), ',,',
    case when of_table is not null then
      ',' || app.standing_of_key(brokerage_id, scopes, case of_table when 'deals' then record else app.deal_of(of_table, record) end) end);
  identity := concat(set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', app.seal_of(identity, secret), true));
  return next;
end
$function$;
GRANT EXECUTE ON FUNCTION app.enter_with_api_key(bytea,text,uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.enter_with_calendar_link(token bytea)
 RETURNS TABLE(user_id uuid)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  person uuid;
  member record;
begin
  select l.user_id into person from vault.calendar_links l
    join public.users u on u.id = l.user_id and u.suspended_at is null where l.digest = token;
  if not found then
    return;
  end if;
  select m.asking, m.administered into member from app.memberships_of(person) m;
  perform app.enter_as_person(person, null, null, null, true, member.asking, member.administered, null, null);
  perform set_config('transaction_read_only', 'on', true);
  return query select person;
end
$function$;
GRANT EXECUTE ON FUNCTION app.enter_with_calendar_link(bytea) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.enter_with_session(session bytea, attended boolean DEFAULT true, of_table text DEFAULT NULL::text, record uuid DEFAULT NULL::uuid)
 RETURNS TABLE(user_id uuid, email text, name text, session_id uuid, authenticated_at timestamp with time zone, recently_authenticated boolean, second_factor boolean)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  live vault.live_sessions;
  member record;
begin
  select l.* into live from vault.live_sessions l where l.digest = session;
  if not found then
    return;
  end if;
  if attended and live.last_seen_at < app.now() - interval '1 hour' then
    update vault.sessions s set last_seen_at = app.now()
      where s.id = (select f.id from vault.sessions f where f.id = live.id for update skip locked);
  end if;
  select m.asking, m.administered into member from app.memberships_of(live.user_id) m;
  perform app.enter_as_person(live.user_id, null, null, live.id, live.second_factor_at is not null, member.asking,
    member.administered, of_table, record);
  return query select live.user_id, live.email, live.name, live.id, live.authenticated_at,
    live.authenticated_at > app.now() - interval '10 minutes',
    exists (select from vault.totp t where t.user_id = live.user_id and t.confirmed_at is not null);
end
$function$;
GRANT EXECUTE ON FUNCTION app.enter_with_session(bytea,boolean,text,uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.enter_with_token(presented bytea, resource text, of_table text DEFAULT NULL::text, record uuid DEFAULT NULL::uuid, tool text DEFAULT NULL::text, subject text DEFAULT NULL::text, on_deal uuid DEFAULT NULL::uuid, address inet DEFAULT NULL::inet, request_id text DEFAULT NULL::text, record_id uuid DEFAULT NULL::uuid, tells text DEFAULT NULL::text, most_uploads integer DEFAULT NULL::integer, most_adjustments integer DEFAULT NULL::integer, held text[] DEFAULT NULL::text[])
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET enable_seqscan TO 'off'
AS $function$
declare
  deal constant uuid := case when of_table = 'deals' then record when of_table is not null then app.deal_of(of_table, record) end;
  person uuid;
  user_name text;
  client_id uuid;
  client_name text;
  family_id uuid;
  scopes text[];
  expires_at timestamptz;
  asking uuid[];
  administered uuid[];
  secret bytea;
  identity text;
  participant uuid;
  deal_role text;
  principal uuid;
  principal_role text;
  side text;
  tenant uuid;
  title text;
  state text;
  closed_at timestamptz;
  created_at timestamptz;
  updated_at timestamptz;
  stage text;
  staged_at timestamptz;
  holder uuid;
  buyer uuid;
  granted_at timestamptz;
  ends_at timestamptz;
  knows_all boolean;
  knows_seller boolean;
  knows_stage boolean;
  is_selected boolean;
  runs boolean;
  settled text;
  is_unheld boolean;
  told json;
begin
  -- The client works for the person as vault.working_clients has it. An answer to a call that reads does not wait for the disk.
  select f.user_id, u.name, f.client_id, c.name, f.id, t.scopes, t.expires_at,
    array(select k.brokerage_id from public.members k where k.user_id = f.user_id and k.status = 'active'
      and (select b.requires_second_factor from public.brokerages b where b.id = k.brokerage_id)),
    d.participant_id, d.role, d.principal_id, d.side, case when tells is not null then d.side end, coalesce(d.side, '') <> 'buyer',
    d.organization_id, d.title, d.state, d.closed_at, d.created_at, d.updated_at, d.stage, d.stage_updated_at,
    d.holder_id, d.buyer_user_id, d.granted_at, d.expires_at,
    case when tool is not null then set_config('synchronous_commit', 'off', true) end
  into person, user_name, client_id, client_name, family_id, scopes, expires_at,
    asking, participant, deal_role, principal, principal_role, side, knows_all,
    tenant, title, state, closed_at, created_at, updated_at, stage, staged_at,
    holder, buyer, granted_at, ends_at,
    identity
  from (select k.family_id, k.scopes, k.expires_at from vault.access_tokens k
    where k.digest = presented and k.expires_at > app.now() and k.revoked_at is null offset 0) t
  cross join lateral (select y.id, y.user_id, y.client_id from vault.token_families y
    where y.id = t.family_id and y.revoked_at is null and y.ends_at > app.now() and y.resource = enter_with_token.resource offset 0) f
  cross join lateral (select k.name, k.brokerage_id, k.created_by from public.connected_clients k
    where k.id = f.client_id and k.deleted_at is null and not k.disabled offset 0) c
  cross join lateral (select k.name from public.users k where k.id = f.user_id and k.suspended_at is null offset 0) u
  left join lateral (select k.participant_id, k.role, k.principal_id, k.side, k.organization_id, k.title, k.state, k.closed_at, k.created_at, k.updated_at,
      k.stage, k.stage_updated_at, k.holder_id, k.buyer_user_id, k.granted_at, k.expires_at from vault.deals_of_people k
    where k.user_id = f.user_id and k.deal_id = deal offset 0) d on true
  where case when c.brokerage_id is null then c.created_by = f.user_id
    else exists (select from public.members k where k.brokerage_id = c.brokerage_id and k.user_id = f.user_id and k.status = 'active') end;
  if not found then
    return null;
  end if;
  if asking <> '{}' or side is null or side not in ('broker', 'seller') then
    if asking <> '{}' then
      -- A client shows no second factor: it is enough that the person has one.
      if app.has_second_factor(person) then
        asking := '{}';
      elsif tenant = any (asking) then
        side := null;
      end if;
    end if;
    -- Who has no part in it may be an admin of its brokerage.
    if tenant is null and deal is not null then
      select d.organization_id into tenant from public.deals d where d.id = deal;
    end if;
    if asking <> '{}' or side is null or side not in ('broker', 'seller') then
      if participant is null and of_table is not null then
        -- The same work whether there is such a deal or not.
        administered := array(select m.brokerage_id from public.members m where m.user_id = person
          and m.status = 'active' and m.role = 'admin' and m.brokerage_id <> all (asking));
      end if;
      select s.secret into secret from vault.seal s;
      identity := concat(person, ',', client_id, ',,,', array_to_string(scopes, ' '), ',,', array_to_string(asking, ' '),
        case when of_table is not null then ',' || app.standing_of(deal, tenant, asking, administered, participant, deal_role,
          principal, principal_role) end);
      identity := concat(set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', app.seal_of(identity, secret), true));
      if tool is not null and asking <> '{}' then
        perform app.check_second_factor();
      end if;
      if tells is not null then
        side := coalesce(side, case when tenant = any (administered) then '' end);
      end if;
    end if;
    if tells = 'deal' and side is not null and title is null then
      -- An admin has no row of their own.
      select d.title, d.state, d.closed_at, d.created_at, d.updated_at, g.state, g.updated_at, x.participant_id, x.buyer_user_id, x.granted_at, x.expires_at
      into title, state, closed_at, created_at, updated_at, stage, staged_at, holder, buyer, granted_at, ends_at
      from public.deals d
      left join public.deal_stages g on g.deal_id = d.id
      left join public.exclusivities x on x.deal_id = d.id and x.ended_at is null
      where d.id = deal;
    end if;
  end if;
  if tells = 'deal' and title is not null and side in ('', 'broker', 'seller', 'viewer', 'buyer') then
    -- All but a buyer's side know of everybody and how it stands.
    if not knows_all then
      knows_all := tenant = any (app.brokerages_as('admin'));
      if not knows_all then
        knows_seller := exists (select from public.deals d where d.id = deal and not d.needs_nda)
          or exists (select from vault.active_ndas n where n.participant_id = principal);
      end if;
    end if;
    if stage is not null or holder is not null then
      is_selected := coalesce(holder = principal, false);
      runs := coalesce(ends_at > app.now(), false);
      knows_stage := knows_all or is_selected and (runs or stage is distinct from 'exclusivity');
      if not ((knows_all or is_selected) and (runs or state = 'closed' or coalesce(knows_stage and stage <> 'exclusivity', false))) then
        buyer := null;
        granted_at := null;
        ends_at := null;
      end if;
      if knows_stage then
        state := coalesce(stage, state);
        updated_at := greatest(updated_at, staged_at);
      end if;
      if stage = 'exclusivity' and not runs and state in ('under_offer', 'exclusivity') then
        state := 'listed';
      end if;
    end if;
    -- One table after the other, each by its index, however few rows there are.
    told := json_build_array(deal, title, state, tenant, buyer, granted_at::text, ends_at::text, closed_at::text, created_at::text, updated_at::text, (
      select json_agg(json_build_array(k.person_id, k.role, k.status, k.name, k.side, k.nda_status, k.advises) order by k.created_at, k.id) from (
        select p.id, p.created_at, p.person_id, p.role, p.status, case when p.joined_at is null then p.invited_name else coalesce(p.left_name, u.name) end as name,
          a.role as side, a.person_id as advises,
          case when p.role = 'buyer' and (side in ('broker', 'seller') or p.id = principal) then coalesce((
            select case when n.status in ('sent', 'active') and n.expires_at <= app.now() then 'expired' else n.status end
            from public.ndas n where n.participant_id = p.id order by n.status = 'active' desc, n.sent_at desc, n.id desc limit 1), 'none') end as nda_status
        from public.participants p
        cross join lateral (select k.name from public.users k where k.id = p.user_id offset 0) u
        left join lateral (select k.role, k.person_id from public.participants k where p.role = 'advisor' and k.id = p.advises offset 0) a on true
        where p.deal_id = deal and (knows_all or coalesce(p.advises, p.id) = principal
          or p.status = 'active' and (p.role = 'broker' or p.role = 'seller' and knows_seller))
        order by p.status = 'removed', p.created_at, p.id limit 201) k),
      (select json_build_array(trim_scale(d.asking_price)::text, d.currency, d.industry, d.location, d.needs_nda, (
        select b.name from public.brokerages b where b.id = d.organization_id)) from public.deals d where d.id = deal));
  elsif tells = 'offers' and side is not null then
    settled := vault.digest_of_books(deal, side in ('broker', 'seller') or deal = any (app.qoe_deals(false)), most_uploads, most_adjustments);
    is_unheld := settled <> all (held);
    told := case when is_unheld then 'false'
      else json_build_array(vault.offers_told(deal, side, principal), settled, app.now()::text) end;
  end if;
  if tool is not null and is_unheld is not true then
    -- A record is filed under the brokerage of its deal: on a deal that the caller does not see it names the deal, and stays theirs alone.
    if participant is null and (tenant = any (administered)) is not true then
      subject := coalesce(subject, on_deal::text);
      on_deal := null;
    end if;
    insert into public.audit_records (id, at, brokerage_id, deal_id, user_id, client_id, address, request_id, action, subject_id, outcome, noted)
    values (record_id, app.now(), case when on_deal = deal then tenant end, on_deal, person, client_id, enter_with_token.address,
      enter_with_token.request_id, 'tool:' || tool, subject, 'ok', false);
  end if;
  return json_build_array(person, client_id, client_name, family_id, scopes, expires_at::text, user_name, deal_role, told,
    coalesce(principal_role, case when tenant = any (administered) then 'admin' end));
end
$function$;
GRANT EXECUTE ON FUNCTION app.enter_with_token(bytea,text,text,uuid,text,text,uuid,inet,text,uuid,text,integer,integer,text[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.erase_contact(contact uuid, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.user_id() is null or app.key_id() is not null or app.client_id() is not null
    or not exists (select from public.contacts c where c.id = contact and c.brokerage_id = any (app.brokerages_as('admin'))) then
    return false;
  end if;
  perform app.erase_contacts(array[contact], null, 'admin', erase_contact.address, erase_contact.request_id);
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.erase_contact(uuid,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.erase_contacts(chosen uuid[], of_address text, by_whom text, address inet, request_id text)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  now constant timestamptz := app.now();
  brokerages uuid[];
  targets uuid[];
  named text[];
  held record;
  erased record;
  counted int := 0;
begin
  select coalesce(array_agg(distinct c.brokerage_id order by c.brokerage_id), '{}') into brokerages from public.contacts c where c.id = any (chosen);
  lock table vault.legal_holds in row share mode;
  select b.id, b.name into held from vault.legal_holds h join public.brokerages b on b.id = h.subject_id
    where h.kind = 'brokerage' and h.subject_id = any (brokerages) order by b.id limit 1;
  if found then
    perform app.refuse('legal_hold', case by_whom when 'operator'
      then format('A legal hold on the brokerage "%s" stops this: when it has ended, dealkeep hold off brokerage %s.', held.name, held.id)
      else 'The contacts of this brokerage must be kept for now because of a legal hold: the operator of this service can tell you more.' end);
  end if;
  -- As a merge does, which locks two contacts.
  perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('contacts ' || b.id, 0)) from unnest(brokerages) with ordinality b (id, place) order by b.place;
  targets := array(
    with roots as (select distinct coalesce(c.merged_into, c.id) as id from public.contacts c where c.id = any (chosen))
    select r.id from roots r union select c.id from public.contacts c join roots r on c.merged_into = r.id);
  perform from public.contacts c where c.id = any (targets) order by c.id for update;
  targets := array(select c.id from public.contacts c
    where c.id = any (targets) and (of_address is null or c.type = 'person' or (c.email is not null and lower(c.email) = of_address)));
  select u.id, u.name into held from vault.legal_holds h join public.users u on u.id = h.subject_id
    where h.kind = 'person' and u.email = any (array(select lower(c.email) from public.contacts c where c.id = any (targets) and c.email is not null))
    order by u.id limit 1;
  if found then
    perform app.refuse('legal_hold', case by_whom when 'operator'
      then format('A legal hold on the person "%s" stops this: when it has ended, dealkeep hold off person %s.', held.name, held.id)
      else 'This contact must be kept for now because of a legal hold: the operator of this service can tell you more.' end);
  end if;
  -- First answers that have them are given to nobody any more; their keys stay taken for their 24 hours, so that nothing is done twice.
  named := array(select t.id::text from unnest(targets) t (id)
    union select to_json(lower(c.email))::text from public.contacts c where c.id = any (targets) and c.email is not null);
  update vault.idempotency_keys k set answer = null
    where k.answer is not null and app.named_in(k.answer) && named
      and exists (select from public.api_keys a where a.id = k.key_id and (a.brokerage_id = any (brokerages)
        or exists (select from public.brokerages s where s.id = any (brokerages) and s.sandbox_of = a.brokerage_id)));
  for erased in
    update public.contacts c
      set display_name = case when c.type = 'person' then 'Former participant' when of_address is null then 'Former company' else c.display_name end,
        email = null,
        phone = case when c.type = 'company' and of_address is not null then c.phone end,
        external_id = case when c.type = 'company' and of_address is not null then c.external_id end,
        archived_at = case when c.type = 'company' and of_address is not null then c.archived_at else coalesce(c.archived_at, now) end,
        erased_at = case when c.type = 'company' and of_address is not null then c.erased_at else coalesce(c.erased_at, now) end
      where c.id = any (targets)
      returning c.id, c.brokerage_id
  loop
    counted := counted + 1;
    perform app.audit('contact.erase', erased.id::text, 'done', erased.brokerage_id, null, address, request_id, jsonb_build_object('by', by_whom));
  end loop;
  perform app.clear_answers_about(targets);
  if of_address is not null then
    perform app.erase_in_sandboxes(of_address);
  end if;
  return counted;
end
$function$;

CREATE OR REPLACE FUNCTION app.erase_in_sandboxes(of_address text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  fictive uuid[];
  emails text[];
begin
  select array_agg(u.id), array_agg(u.email) into fictive, emails from public.users u
    where u.sandbox_id is not null and split_part(u.email, '@', 1) = md5(of_address);
  update public.participants p set left_name = null, left_email = null, invited_name = 'Former participant',
      invited_email = 'erased-' || gen_random_uuid() || '@erased.invalid'
    where p.user_id = any (fictive);
  -- Whoever has a list of addresses finds out which of them the digest was made of.
  update public.users u set name = 'Former participant', email = app.sandbox_address(u.sandbox_id, 'erased-' || gen_random_uuid())
    where u.id = any (fictive);
  delete from vault.mail_counts m using unnest(emails) f (email)
    where app.counted_of(m.subject) @> array[f.email] and right(m.subject, length(f.email) + 4) = ' to ' || f.email;
end
$function$;

CREATE OR REPLACE FUNCTION app.erase_oneself(session bytea, request_id text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session_with_factor(session) r;
  if not found then
    return null;
  end if;
  -- Contacts and mails of others go by the address, which an account has that was opened by a link from hand to hand, whosever mailbox it is.
  if exists (select from vault.passwords p where p.user_id = this.user_id and p.address_proven_at is null) then
    perform app.refuse('address_unproven', 'Show first that the mailbox is yours: request a new password on the sign-in page and open the link in that e-mail. Then erase your account.');
  end if;
  return app.erase_person(this.user_id, 'oneself', erase_oneself.request_id);
end
$function$;
GRANT EXECUTE ON FUNCTION app.erase_oneself(bytea,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.erase_person(person uuid, by_whom text, request_id text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  now constant timestamptz := app.now();
  themself constant boolean := by_whom = 'oneself';
  identity constant text := current_setting('dealkeep.identity', true);
  seal constant text := current_setting('dealkeep.seal', true);
  erased public.users;
  hold record;
  alone record;
  ended record;
  pseudonym text;
  placeholder constant text := 'erased-' || gen_random_uuid() || '@erased.invalid';
  digits int := 4;
  known_to uuid[];
  known_as uuid[];
  own_clients uuid[];
  contacts uuid[];
  reach timestamptz;
begin
  -- Not yet as for another address: who has a deal and names the account of whoever wrote there would wait for this, and this for the deal.
  select u.* into erased from public.users u where u.id = person for no key update;
  if not found then
    return null;
  end if;
  if erased.erased_at is not null then
    return erased.name;
  end if;

  select h.* into hold from app.hold_on_person(person) h;
  if found then
    perform app.refuse('legal_hold', case when themself
      then 'Your data must be kept for now because of a legal hold: the operator of this service can tell you more.'
      else format('A legal hold on the %s "%s" stops this: when it has ended, dealkeep hold off %s %s.',
        hold.kind, hold.title, hold.kind, hold.subject_id) end);
  end if;

  perform from public.members m where m.user_id = person order by m.brokerage_id for update;
  -- One after the other, or two who leave at once would each count on the other.
  perform from public.brokerages b join public.members m on m.brokerage_id = b.id
    where m.user_id = person and m.role = 'admin' and m.status = 'active' order by b.id for no key update of b;
  select b.name, count(*) over () - 1 as more into alone from public.members m join public.brokerages b on b.id = m.brokerage_id
    where m.user_id = person and m.role = 'admin' and m.status = 'active'
      and not exists (select from public.members o join public.users u on u.id = o.user_id and u.suspended_at is null
        where o.brokerage_id = m.brokerage_id and o.user_id <> person and o.role = 'admin' and o.status = 'active')
    order by b.id limit 1;
  if found then
    perform app.refuse('last_admin', format('%s the last admin of %s%s: make somebody else admin first.',
      case when themself then 'You are' else 'They are' end, alone.name,
      case when alone.more > 0 then format(' and of %s more', alone.more) else '' end));
  end if;
  -- As in app.remove_member().
  perform from public.members own
    cross join lateral app.member_invitations_made(person, own.brokerage_id) made (id)
    join public.members m on m.brokerage_id = own.brokerage_id and m.user_id = made.id
    where own.user_id = person and own.status = 'active' order by m.brokerage_id, m.user_id for update of m;
  perform app.lock_parts(person);
  -- Whoever notes deliveries has webhooks, one after the other, before they name an account: their admin's, or that of one who is mailed.
  perform from public.api_keys k
    where k.created_by = person or k.id in (select d.key_id from vault.api_key_digests d where d.issued_by = person)
    order by k.id for no key update;
  perform from public.webhook_endpoints e join public.api_keys k on k.id = e.key_id
    where e.created_by = person or k.brokerage_id in (
      select m.brokerage_id from public.members m where m.user_id = person and m.role = 'admin' and m.status = 'active')
    order by e.id for no key update of e;
  -- Whatever else names the account is there by now, or waits.
  perform from public.users u where u.id = person for update;
  -- Where they are a member, as whoever leaves that brokerage. A broker from elsewhere may leave any other broker behind.
  select d.title, count(*) over () - 1 as more, exists (select from public.members m
      where m.brokerage_id = d.organization_id and m.user_id = person and m.status = 'active') as of_brokerage into alone from public.participants p join public.deals d on d.id = p.deal_id
    where p.user_id = person and p.role = 'broker' and p.status = 'active' and d.state not in ('closed', 'withdrawn')
      and not exists (select from vault.deletions_begun b where b.brokerage_id = d.organization_id)
      and (d.id in (select a.id from public.members m cross join lateral app.open_deals_alone(m.brokerage_id, person) a (id)
          where m.user_id = person and m.status = 'active')
        or not exists (select from public.participants o join public.users u on u.id = o.user_id and u.suspended_at is null
          where o.deal_id = d.id and o.user_id <> person and o.role = 'broker' and o.status = 'active'))
    order by d.id limit 1;
  if found then
    perform app.refuse('only_broker', format('%s the only broker of the %s "%s"%s: hand it over or close it first.',
      case when themself then 'You are' else 'They are' end,
      case when alone.of_brokerage then 'brokerage on the open deal' else 'open deal' end, alone.title,
      case when alone.more > 0 then format(' and of %s more', alone.more) else '' end));
  end if;

  -- From nothing that is known about them, so that nobody finds out who it was; not the same as another's, so that records stay apart.
  loop
    pseudonym := 'Former participant ' || upper(substr(replace(gen_random_uuid()::text, '-', ''), 1, digits));
    exit when not exists (select from public.users u where u.name = pseudonym and u.name like 'Former participant %');
    digits := least(digits + 1, 12);
  end loop;

  -- What follows happens to them, and is not their doing.
  perform set_config('dealkeep.identity', '', true), set_config('dealkeep.seal', '', true);

  contacts := array(select k.id from app.contacts_with_address(erased.email) k);
  -- Who is being merged with one of them has been by then, or waits; in the order of merges.
  perform from public.contacts c where c.id = any (app.with_duplicates(contacts)) order by c.id for no key update;
  contacts := app.with_duplicates(contacts);

  -- By the name under which each brokerage knows them: the id of the account would lead from a contact, or from an invitation, to what they did elsewhere.
  with known as (
    select m.brokerage_id, m.person_id as subject, m.joined_at is null as only_invited from public.members m where m.user_id = person
    union all
    select d.organization_id, p.person_id, p.joined_at is null from public.participants p join public.deals d on d.id = p.deal_id where p.user_id = person)
  select array_agg(k.brokerage_id), array_agg(k.subject) into known_to, known_as from (
    (select distinct on (n.brokerage_id) n.brokerage_id, n.subject from known n order by n.brokerage_id, n.only_invited, n.subject)
    union all
    select c.brokerage_id, c.id from public.contacts c
      where c.id = any (contacts) and c.brokerage_id not in (select n.brokerage_id from known n)) k;

  -- Out of everything, by the same way as if they had been removed.
  update public.members m set status = 'removed' where m.user_id = person and m.status <> 'removed';
  update public.participants p set status = 'removed' where p.user_id = person and p.status <> 'removed';
  update public.users u set email = placeholder, name = pseudonym, erased_at = now, suspended_at = coalesce(u.suspended_at, now)
    where u.id = person;
  perform app.end_sessions_of(person);
  -- What they were shown; a key that another admin has been shown since is that one's.
  update vault.api_key_digests d set valid_until = now where d.issued_by = person and (d.valid_until is null or d.valid_until > now);
  for ended in
    update public.api_keys k set revoked_at = now
      where k.created_by = person and k.revoked_at is null
        and not exists (select from vault.api_key_digests d where d.key_id = k.id and (d.valid_until is null or d.valid_until > now))
      returning k.id, k.brokerage_id
  loop
    perform app.audit('api_key.revoke', ended.id::text, 'done', ended.brokerage_id, null, null, erase_person.request_id, '{}');
  end loop;

  -- Who they were, where a deal or a brokerage has it in a place of its own. Nothing there is the same as elsewhere: somebody who knew them by it would know them again.
  -- Without a name of the day on which they left they are called by their pseudonym.
  update public.members m set left_name = null, left_email = null, invited_name = case when n.is_invited then 'Former participant' end,
      invited_email = case when n.is_invited then 'erased-' || gen_random_uuid() || '@erased.invalid' end
    from (select k.brokerage_id, num_nonnulls(k.invited_name, k.invited_email) > 0 as is_invited from public.members k
      where k.user_id = person and num_nonnulls(k.invited_name, k.invited_email, k.left_name, k.left_email) > 0) n
    where m.user_id = person and m.brokerage_id = n.brokerage_id;
  update public.participants p set left_name = null, left_email = null, invited_name = case when n.is_invited then 'Former participant' end,
      invited_email = case when n.is_invited then 'erased-' || gen_random_uuid() || '@erased.invalid' end
    from (select k.id, num_nonnulls(k.invited_name, k.invited_email) > 0 as is_invited from public.participants k
      where k.user_id = person and num_nonnulls(k.invited_name, k.invited_email, k.left_name, k.left_email) > 0) n
    where p.id = n.id;
  perform app.erase_in_sandboxes(erased.email);
  update public.ndas n set signed_name = pseudonym, signed_address = null
    from public.participants p
    where p.user_id = person and n.participant_id = p.id and num_nonnulls(n.signed_name, n.signed_address) > 0;
  update public.contacts c
    set display_name = case when c.type = 'person' then 'Former participant' else c.display_name end,
      phone = case when c.type = 'company' then c.phone end, email = null,
      archived_at = case when c.type = 'person' then coalesce(c.archived_at, now) else c.archived_at end,
      erased_at = case when c.type = 'person' then coalesce(c.erased_at, now) else c.erased_at end,
      external_id = case when c.type = 'company' then c.external_id end
    where c.id = any (contacts);
  -- First answers that name them are given to nobody any more; their keys stay taken for their 24 hours, so that nothing is done twice. Their name counts beside their id alone:
  -- anybody may choose one that stands in every answer.
  update vault.idempotency_keys k set answer = null
    where k.answer is not null
      and (app.named_in(k.answer) @> app.named_in(to_json(erased.email)::text) and strpos(lower(k.answer), to_json(erased.email)::text) > 0
        or app.named_in(k.answer) @> array[person::text] and strpos(k.answer, to_json(erased.name)::text) > 0);

  -- What they sign in with, and what lets others in as them.
  delete from vault.passwords p where p.user_id = person;
  delete from vault.totp t where t.user_id = person;
  delete from vault.recovery_codes r where r.user_id = person;
  delete from vault.passkeys k where k.user_id = person;
  delete from vault.password_resets r where r.user_id = person;
  delete from vault.challenges c where c.user_id = person;
  delete from vault.sessions s where s.user_id = person;
  delete from vault.invitations i where i.user_id = person;
  select coalesce(array_agg(c.id), '{}') into own_clients from public.connected_clients c
    where c.created_by = person and c.brokerage_id is null;
  delete from vault.authorization_codes c where c.user_id = person or c.client_id = any (own_clients);
  delete from vault.token_families f where f.user_id = person or f.client_id = any (own_clients);
  delete from public.tool_grants g where g.user_id = person or g.client_id = any (own_clients);
  delete from public.connected_clients c where c.id = any (own_clients);
  delete from public.deal_opt_ins o where o.user_id = person;

  -- What they are written to by, and what is theirs alone.
  delete from vault.outbox o where o.recipient_id = person or o.recipient = erased.email;
  -- Whoever has caused a mail is named in it as they were called then.
  update vault.outbox o set facts = (
      select jsonb_object_agg(f.key, case when f.key = 'by' or f.value in (to_jsonb(erased.name), to_jsonb(erased.email)) then to_jsonb(pseudonym) else f.value end)
      from jsonb_each(o.facts) f)
    where o.caused_by = person and o.facts <> '{}' and jsonb_typeof(o.facts) = 'object';
  delete from vault.mail_counts m
    where app.counted_of(m.subject) @> array[erased.email] and right(m.subject, length(erased.email) + 4) = ' to ' || erased.email;
  delete from vault.notifications n where n.user_id = person;
  delete from vault.events e where e.person_id = person;
  -- Of very many records the older ones are cleared by app.clear_addresses.
  select a.at into reach from public.audit_records a where a.user_id = person order by a.at desc offset 9999 limit 1;
  perform app.clear_traces(array[person], coalesce(reach, '-infinity'));
  if app.clear_addresses_of_keys(array[person], 10000) >= 10000 and reach is null then
    reach := '-infinity';
  end if;
  insert into vault.addresses_to_clear (user_id, before) select person, reach - interval '1 microsecond' where reach is not null;

  -- A name that a declined invitation was for.
  update public.audit_records a set details = a.details || '{"name": "Former participant"}'
    from public.participants p
    where p.user_id = person and a.deal_id = p.deal_id and a.action = 'invitation.decline' and a.subject_id = p.id::text
      and a.details ? 'name';

  perform app.clear_answers_about(contacts || array(
    select p.id from public.participants p where p.user_id = person
    union all
    select n.id from public.participants p join public.ndas n on n.participant_id = p.id where p.user_id = person));

  insert into public.audit_records (brokerage_id, user_id, request_id, action, subject_id, outcome, details)
    select k.id, case when themself and k.subject = person then person end, erase_person.request_id, 'person.erase', k.subject::text, 'done',
      jsonb_build_object('by', by_whom)
    from unnest(coalesce(known_to, array[null::uuid]), coalesce(known_as, array[person])) k (id, subject);
  perform set_config('dealkeep.identity', coalesce(identity, ''), true), set_config('dealkeep.seal', coalesce(seal, ''), true);
  return pseudonym;
end
$function$;

CREATE OR REPLACE FUNCTION app.exclusivity_lapsed(deal_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (select from public.deal_stages g where g.deal_id = exclusivity_lapsed.deal_id and g.state = 'exclusivity')
    and not app.exclusivity_runs(deal_id) and app.seen_deal(deal_id) is not null;
end
$function$;
GRANT EXECUTE ON FUNCTION app.exclusivity_lapsed(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.exclusivity_runs(deal_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (select from public.exclusivities x
    where x.deal_id = exclusivity_runs.deal_id and x.ended_at is null and x.expires_at > app.now());
end
$function$;

CREATE OR REPLACE FUNCTION app.export_people(brokerage uuid, deals uuid[])
 RETURNS TABLE(content text, cells text[])
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select jsonb_build_object('id', k.id, 'name', k.name, 'email', k.email)::text, array[k.id::text, k.name, k.email]
  from (
    -- Whoever is still somewhere in the brokerage is called as they are now.
    select u.id, coalesce(l.left_name, u.name) as name, coalesce(l.left_email, u.email) as email
    from public.users u
    left join lateral (
      select x.* from (
        select m.left_name, m.left_email, m.updated_at from public.members m
          where m.brokerage_id = export_people.brokerage and m.user_id = u.id and m.joined_at is not null
        union all
        select p.left_name, p.left_email, p.updated_at from public.participants p
          where p.deal_id = any (export_people.deals) and p.user_id = u.id and p.joined_at is not null) x
      order by x.left_name is null desc, x.updated_at desc limit 1) l on true
    where u.id in (select m.person_id from public.members m where m.brokerage_id = export_people.brokerage
      union select p.person_id from public.participants p where p.deal_id = any (export_people.deals))) k
  order by k.id
$function$;
GRANT EXECUTE ON FUNCTION app.export_people(uuid,uuid[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.export_rows(query text, brokerage uuid, deals uuid[], after text[], most integer)
 RETURNS TABLE(content text, cells text[], place text[])
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  sorts constant text := current_setting('enable_sort');
begin
  if starts_with(query, '/* in order */') then
    perform set_config('enable_sort', 'off', true);
  end if;
  return query execute export_rows.query using brokerage, deals, after, most;
  perform set_config('enable_sort', sorts, true);
end
$function$;
GRANT EXECUTE ON FUNCTION app.export_rows(text,uuid,uuid[],text[],integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.export_tables()
 RETURNS TABLE(name text, columns text[], texts boolean[], by_deal boolean, query text)
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select t.name, c.columns, c.texts, strpos(r.condition, '$1') = 0,
    format('%sselect to_jsonb(r)::text, array[%s], array[%s] from %s t cross join lateral (select %s) r
      where (%s) and ($3 is null or (%s) > (%s)) order by %s limit $4',
      case when o.key is not null then '/* in order */ ' end, c.cells, k.place, coalesce(o.source, format('public.%I', t.name)), c.taken,
      case when o.key is not null then 't.brokerage_id = $1' else r.condition end, k.key, k.beyond, k.key)
  from app.rows_of_brokerage('any ($2)', false) r
    cross join lateral (select split_part(r.name, '.', 2) as name, case when r.name like 'public.%' then r.name::regclass end as id) t
    -- Of what a brokerage may have very much, in the order of an index that begins with the brokerage: by their primary key it would be read through those of all.
    left join (values
      ('audit_records', null, '{at,id}'::name[]),
      -- Those that are archived have an index of their own.
      ('contacts', (
        select format('(%s)', string_agg(format('(select c.* from public.contacts c where c.brokerage_id = $1 and c.archived_at is %s null
          and ($3 is null or (c.created_at, c.id) > ($3[1]::timestamptz(3), $3[2]::uuid)) order by c.created_at, c.id limit $4)', isnt), ' union all '))
        from unnest('{"",not}'::text[]) isnt), '{created_at,id}')
      ) o (name, source, key) on o.name = t.name
    cross join lateral (
      select array_agg(a.attname::text order by a.attnum) as columns, array_agg(y.typcategory in ('S', 'U', 'A') order by a.attnum) as texts,
        string_agg(format('r.%I::text', a.attname), ', ' order by a.attnum) as cells,
        string_agg(
          case when exists (
            select from pg_catalog.pg_constraint k where k.contype = 'f' and k.conrelid = t.id and k.confrelid = 'public.users'::regclass
              and k.conkey = array[a.attnum])
          then format('case when %s then t.%I end as %I', case
              when t.name = 'deals' or exists (select from pg_catalog.pg_attribute d where d.attrelid = t.id and d.attname = 'deal_id') then 'app.user_id() is null'
              else format('exists (select from public.users u where u.id = t.%I)', a.attname) end, a.attname, a.attname)
          else format('t.%I', a.attname) end, ', ' order by a.attnum) as taken
      from pg_catalog.pg_attribute a join pg_catalog.pg_type y on y.oid = a.atttypid
      where a.attrelid = t.id and a.attnum > 0 and not a.attisdropped and a.attname not in ('storage_key', 'body_cleared_at', 'picture', 'noted')
        and not (a.attname = 'user_id' and t.name in ('members', 'participants')) and has_column_privilege(a.attrelid, a.attnum, 'select')) c
    cross join lateral (
      select string_agg(format('t.%I', p.attname), ', ' order by p.place) as key,
        string_agg(format('t.%I::text', p.attname), ', ' order by p.place) as place,
        string_agg(format('$3[%s]::%s', p.place, format_type(p.atttypid, p.atttypmod)), ', ' order by p.place) as beyond
      from (
        select p.attname, p.atttypid, p.atttypmod, row_number() over (order by p.place) as place
        from (
          select a.attname, a.atttypid, a.atttypmod, p.place
          from pg_catalog.pg_index i cross join lateral unnest(i.indkey) with ordinality p (attnum, place)
            join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = p.attnum
          where i.indrelid = t.id and i.indisprimary and o.key is null
          union all
          -- Deal by deal: by the primary key alone the rows of other brokerages would be read for it, too.
          select a.attname, a.atttypid, a.atttypmod, 0
          from pg_catalog.pg_attribute a
          where r.condition = 't.deal_id = any ($2)' and a.attrelid = t.id and a.attname = 'deal_id' and not exists (select from pg_catalog.pg_index i
            where i.indrelid = t.id and i.indisprimary and a.attnum = any (i.indkey))
          union all
          select a.attname, a.atttypid, a.atttypmod, p.place
          from unnest(o.key) with ordinality p (name, place) join pg_catalog.pg_attribute a on a.attrelid = t.id and a.attname = p.name) p) p) k
  where t.id is not null and c.columns is not null
  order by 1
$function$;
GRANT EXECUTE ON FUNCTION app.export_tables() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.fail_abandoned_snapshots()
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
  update public.accounting_snapshots s
    set status = 'failed', failure = 'The service was interrupted while it read this file: upload it again.'
    where s.status in ('requested', 'processing') and s.requested_at < app.now() - interval '1 day'
$function$;
GRANT EXECUTE ON FUNCTION app.fail_abandoned_snapshots() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.fill_sandbox(sandbox uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  now constant timestamptz := date_trunc('milliseconds', app.now());
  today constant date := (now at time zone 'UTC')::date;
  read_at constant timestamptz := now - interval '20 days';
  -- The first day after the last month that was over when the books were read.
  books_to constant date := date_trunc('month', read_at at time zone 'UTC');
  listed constant uuid := app.sandbox_id(sandbox, 'deal listed');
  diligence constant uuid := app.sandbox_id(sandbox, 'deal diligence');
  draft constant uuid := app.sandbox_id(sandbox, 'deal draft');
  closed constant uuid := app.sandbox_id(sandbox, 'deal closed');
  snapshot constant uuid := app.sandbox_id(sandbox, 'snapshot');
  accepted constant uuid := app.sandbox_id(sandbox, 'offer rosa 2');
begin
  insert into public.users (id, email, name, sandbox_id, suspended_at, created_at, updated_at)
    select app.sandbox_id(sandbox, p.who), app.sandbox_address(sandbox, p.mailbox), p.name, sandbox, now, now - interval '90 days', now - interval '90 days'
    from (values ('broker', 'avery.lindgren', 'Avery Lindgren'), ('seller', 'marta.oduya', 'Marta Oduya'), ('owner', 'glenn.tasker', 'Glenn Tasker'),
      ('rosa', 'rosa.ferreira', 'Rosa Ferreira'), ('theo', 'theo.blackwood', 'Theo Blackwood'), ('ines', 'ines.varga', 'Ines Varga'),
      ('advisor', 'samuel.okafor', 'Samuel Okafor, CPA')) p (who, mailbox, name);

  insert into public.contacts (id, brokerage_id, type, display_name, email, phone, external_id, created_by, created_at, updated_at, archived_at)
    select app.sandbox_id(sandbox, 'contact ' || c.nr), sandbox, c.type, c.name, c.mailbox || '.example', c.phone, c.external,
      app.sandbox_id(sandbox, 'broker'), now - make_interval(days => 60 - c.nr * 4), now - make_interval(days => case when c.nr = 12 then 2 else 60 - c.nr * 4 end),
      case when c.nr = 12 then now - interval '2 days' end
    from (values
      (1, 'company', 'Northside Mechanical', 'office@northside', '+1 614-555-0101', 'crm-1001'),
      (2, 'person', 'Marta Oduya', 'marta@northside', '+1 614-555-0102', 'crm-1002'),
      (3, 'company', 'Harbor Lane Print Shop', 'hello@harborlane', '+1 216-555-0103', 'crm-1003'),
      (4, 'person', 'Glenn Tasker', 'glenn@harborlane', '+1 216-555-0104', null),
      (5, 'person', 'Rosa Ferreira', 'rosa@ferreirasearch', '+1 312-555-0105', 'crm-1005'),
      (6, 'company', 'Ferreira Search Partners', 'desk@ferreirasearch', null, null),
      (7, 'person', 'Theo Blackwood', 'theo@blackwood', '+1 412-555-0107', null),
      (8, 'company', 'Blackwood Holdings', null, '+1 412-555-0108', null),
      (9, 'person', 'Ines Varga', 'ines@varga', null, 'crm-1009'),
      (10, 'person', 'Samuel Okafor, CPA', 'samuel@okaforcpa', '+1 312-555-0110', null),
      (11, 'company', 'Three Ferries Bank', 'sba@threeferries', '+1 513-555-0111', null),
      (12, 'person', 'Dale Whitmore', 'dale@whitmore', '+1 937-555-0112', 'crm-1012')) c (nr, type, name, mailbox, phone, external);

  insert into public.deals (id, organization_id, title, state, industry, location, summary, asking_price, currency, needs_nda, closed_at, created_by, keys_admitted, created_at, updated_at)
    values
      (draft, sandbox, 'Two-van mobile dog grooming', 'draft', 'Pet services', 'Dayton, OH', null, null, 'USD', true, null, app.sandbox_id(sandbox, 'broker'), true,
        now - interval '3 days', now - interval '3 days'),
      (listed, sandbox, 'Print shop with 60 standing accounts', 'listed', 'Commercial printing', 'Cleveland, OH',
        'Offset and digital printing for schools, parishes and restaurants. The owner wants to retire within a year.', 890000, 'USD', true, null,
        app.sandbox_id(sandbox, 'broker'), true, now - interval '45 days', now - interval '12 days'),
      (diligence, sandbox, 'Heating and cooling contractor, 11 technicians', 'diligence', 'Heating and cooling', 'Columbus, OH',
        'Residential service and replacement, 2,300 maintenance agreements, no new construction.', 3400000, 'USD', true, null,
        app.sandbox_id(sandbox, 'broker'), true, now - interval '80 days', now - interval '20 days'),
      (closed, sandbox, 'Neighborhood hardware store', 'closed', 'Retail', 'Akron, OH', null, 410000, 'USD', true, now - interval '30 days',
        app.sandbox_id(sandbox, 'broker'), true, now - interval '88 days', now - interval '30 days');

  insert into public.participants (id, deal_id, user_id, role, status, advises, invited_name, invited_email, created_at, updated_at)
    select app.sandbox_id(sandbox, concat(p.deal, ' ', p.who)), app.sandbox_id(sandbox, 'deal ' || p.deal), app.sandbox_id(sandbox, p.who), p.role, p.status,
      case when p.role = 'advisor' then app.sandbox_id(sandbox, p.deal || ' rosa') end,
      case when p.status = 'invited' then 'Ines Varga' end, case when p.status = 'invited' then app.sandbox_address(sandbox, 'ines.varga') end, p.since, p.since
    from (values
      ('draft', 'broker', 'broker', 'active', now - interval '3 days'),
      ('listed', 'broker', 'broker', 'active', now - interval '45 days'), ('listed', 'owner', 'seller', 'active', now - interval '44 days'),
      ('listed', 'theo', 'buyer', 'active', now - interval '30 days'), ('listed', 'ines', 'buyer', 'invited', now - interval '2 days'),
      ('diligence', 'broker', 'broker', 'active', now - interval '80 days'), ('diligence', 'seller', 'seller', 'active', now - interval '79 days'),
      ('diligence', 'rosa', 'buyer', 'active', now - interval '60 days'), ('diligence', 'theo', 'buyer', 'active', now - interval '58 days'),
      ('diligence', 'advisor', 'advisor', 'active', now - interval '40 days'),
      ('closed', 'broker', 'broker', 'active', now - interval '88 days'), ('closed', 'ines', 'buyer', 'active', now - interval '70 days')) p (deal, who, role, status, since)
    order by p.role = 'advisor', p.since;

  insert into public.ndas (id, deal_id, participant_id, status, terms, sent_by, sent_at, signed_at, signed_name, expires_at)
    select app.sandbox_id(sandbox, concat('nda ', n.deal, n.who)), app.sandbox_id(sandbox, 'deal ' || n.deal), app.sandbox_id(sandbox, n.deal || ' ' || n.who), n.status,
      'What is shown here is confidential. This is a sample in a sandbox and binds nobody.', app.sandbox_id(sandbox, 'broker'), n.sent, n.signed, n.signer, n.ends
    from (values
      ('listed', 'theo', 'active', now - interval '29 days', now - interval '28 days', 'Theo Blackwood', now + interval '700 days'),
      ('listed', 'ines', 'sent', now - interval '1 day', null::timestamptz, null, now + interval '60 days'),
      ('diligence', 'rosa', 'active', now - interval '59 days', now - interval '58 days', 'Rosa Ferreira', now + interval '650 days'),
      ('diligence', 'theo', 'active', now - interval '57 days', now - interval '56 days', 'Theo Blackwood', now + interval '650 days')) n (deal, who, status, sent, signed, signer, ends);

  insert into public.offers (id, deal_id, participant_id, buyer_user_id, revision_number, is_current, submitted_at, payload)
    select case o.id when 'rosa 2' then accepted else app.sandbox_id(sandbox, 'offer ' || o.id) end, app.sandbox_id(sandbox, 'deal ' || o.deal),
      app.sandbox_id(sandbox, o.deal || ' ' || o.who), app.sandbox_id(sandbox, o.who), o.nr, o.current, o.at,
      jsonb_build_object('currency', 'USD', 'purchase_price', o.price, 'cash_at_close', o.cash, 'seller_note', o.note, 'financing_contingency', o.financed,
        'target_close_date', today + 70, 'terms', o.terms)
    from (values
      ('rosa 1', 'diligence', 'rosa', 1, false, now - interval '45 days', '3050000.00', '2450000.00', '600000.00', true, 'Subject to the books of the last three years.'),
      ('rosa 2', 'diligence', 'rosa', 2, true, now - interval '38 days', '3300000.00', '2700000.00', '600000.00', true, 'As before, with a seller note at six percent over five years.'),
      ('theo 1', 'diligence', 'theo', 1, true, now - interval '41 days', '2900000.00', '2900000.00', null, false, 'All cash, sixty days to close.'),
      ('theo 2', 'listed', 'theo', 1, true, now - interval '9 days', '820000.00', '500000.00', '320000.00', true, null))
      o (id, deal, who, nr, current, at, price, cash, note, financed, terms);

  insert into public.exclusivities (id, deal_id, participant_id, buyer_user_id, offer_id, granted_by, granted_at, expires_at)
    values (app.sandbox_id(sandbox, 'exclusivity'), diligence, app.sandbox_id(sandbox, 'diligence rosa'), app.sandbox_id(sandbox, 'rosa'), accepted,
      app.sandbox_id(sandbox, 'broker'), now - interval '35 days', now + interval '55 days');

  insert into public.questions (id, deal_id, category, status, question_text, asked_by, participant_id, asked_at, rejection_reason, distributed_response, distributed_at, updated_at)
    select app.sandbox_id(sandbox, 'question ' || q.nr), app.sandbox_id(sandbox, 'deal ' || q.deal), q.category, q.status, q.text, app.sandbox_id(sandbox, q.who),
      app.sandbox_id(sandbox, q.deal || ' ' || q.who), q.asked, q.rejection, q.response, case when q.response is not null then q.moved end, q.moved
    from (values
      (1, 'diligence', 'rosa', 'customers', 'distributed', 'How many maintenance agreements were renewed last year?', now - interval '25 days', null,
        '2,118 of 2,301, with the list in the data room.', now - interval '22 days'),
      (2, 'diligence', 'rosa', 'employees', 'answered', 'Which technicians hold a license in their own name?', now - interval '10 days', null, null, now - interval '8 days'),
      (3, 'diligence', 'rosa', 'legal', 'with_seller', 'Is any warranty claim above $5,000 open?', now - interval '4 days', null, null, now - interval '3 days'),
      (4, 'listed', 'theo', 'operations', 'pending_broker_review', 'Does the press lease end with the sale?', now - interval '1 day', null, null, now - interval '1 day'),
      (5, 'listed', 'theo', 'other', 'rejected', 'May I call the landlord?', now - interval '20 days', 'Before an offer is accepted nobody outside is contacted.', null, now - interval '19 days'))
      q (nr, deal, who, category, status, text, asked, rejection, response, moved);
  insert into public.question_answers (question_id, deal_id, answer_text, answered_by, answered_at)
    values (app.sandbox_id(sandbox, 'question 1'), diligence, '2,118 of 2,301.', app.sandbox_id(sandbox, 'seller'), now - interval '23 days'),
      (app.sandbox_id(sandbox, 'question 2'), diligence, 'Four of them, and I do.', app.sandbox_id(sandbox, 'seller'), now - interval '8 days');

  insert into public.documents (id, deal_id, filename, category, confidentiality, size_bytes, media_type, sha256, storage_key, uploaded_by, uploaded_at)
    select app.sandbox_id(sandbox, 'document ' || d.nr), app.sandbox_id(sandbox, 'deal ' || d.deal), d.filename, d.category, d.confidentiality, d.size, d.media, decode(d.sha256, 'hex'),
      concat('sandbox-', d.nr, '-', replace(sandbox::text, '-', '')), app.sandbox_id(sandbox, d.who), d.at
    from (values
      (1, 'listed', 'broker', 'Teaser.txt', 'marketing', 'public', 234, 'text/plain', 'b7eae4fd904bb277c7053db979e27ff9598a1d3a217f3858d8652a9867d881d4', now - interval '40 days'),
      (2, 'diligence', 'seller', 'Maintenance agreements.csv', 'customers', 'nda_gated', 73, 'text/csv', '57371c6fc11f092b6eb7cc83fb9786ca6a0fcc8e72ee4c195f7aae8066cc2af9', now - interval '50 days'),
      (3, 'diligence', 'broker', 'Lease summary.txt', 'legal', 'selected_buyer_only', 209, 'text/plain', '7eb8c4c3d28f121627037f3c350f30a7a92fb5212f02e278f4924f0b2bae36f5', now - interval '18 days'))
      d (nr, deal, who, filename, category, confidentiality, size, media, sha256, at);
  insert into public.production_documents (id, deal_id, filename, category, confidentiality, size_bytes, media_type, sha256, storage_key, uploaded_by, uploaded_at, diligence_request)
    values (app.sandbox_id(sandbox, 'document 4'), diligence, 'Profit and loss.csv', 'financials', 'selected_buyer_only', 166, 'text/csv', decode('824c8b7f394a9eec1b2a1c8a92bc3589ea76189cba8e98bfb0f42a51be53d4a0', 'hex'),
      'sandbox-4-' || replace(sandbox::text, '-', ''), app.sandbox_id(sandbox, 'seller'), now - interval '16 days', 'Monthly profit and loss of the last year');

  insert into public.qoe_checklist (id, deal_id, category, title, status, completed_at, position, created_at, updated_at)
    select app.sandbox_id(sandbox, 'check ' || c.nr), diligence, c.category, c.title, c.status, case c.status when 'completed' then now - interval '15 days' end, c.nr,
      now - interval '30 days', now - interval '15 days'
    from (values (1, 'revenue', 'Tie monthly revenue to bank deposits', 'completed'), (2, 'expenses', 'Owner''s pay and personal expenses', 'in_progress'),
      (3, 'customers', 'Concentration of the ten largest customers', 'not_started')) c (nr, category, title, status);
  insert into public.accounting_snapshots (id, deal_id, snapshot_type, status, source_name, requested_by, requested_at, completed_at)
    values (snapshot, diligence, 'full', 'completed', 'Bookkeeping', app.sandbox_id(sandbox, 'seller'), read_at, read_at);
  insert into public.pl_periods (id, deal_id, snapshot_id, period_label, period_start_date, period_end_date, currency, revenue, cost_of_goods_sold, gross_profit, operating_expenses,
      owner_compensation, depreciation_amortization, interest_expense, tax_expense, net_income, ebitda)
    select app.sandbox_id(sandbox, 'period ' || m.nr), diligence, snapshot, to_char(m.first, 'YYYY-MM'), m.first, (m.first + interval '1 month')::date - 1, 'USD',
      m.revenue, m.revenue * 0.55, m.revenue * 0.45, m.revenue * 0.22, 12500, 4200, 900, 1100, m.revenue * 0.23 - 18700, m.revenue * 0.23 - 12500
    from (select n.nr, (books_to - make_interval(months => 13 - n.nr))::date as first, 390000.00 + n.nr * 4150 as revenue
      from generate_series(1, 12) n (nr)) m;
  insert into public.customer_revenues (id, deal_id, snapshot_id, customer_name, period_start_date, period_end_date, currency, revenue_total)
    select app.sandbox_id(sandbox, 'customer ' || c.nr), diligence, snapshot, c.name, (books_to - interval '12 months')::date, books_to - 1, 'USD', c.revenue
    from (values (1, 'Oak Terrace Homeowners', 214300.00), (2, 'St. Brendan Parish', 141900.50), (3, 'Lakeview Apartments', 98750.00)) c (nr, name, revenue);
  insert into public.normalizations (id, deal_id, period_label, adjustment_category, adjustment_amount, rationale, created_by, created_at)
    select app.sandbox_id(sandbox, 'normalization ' || n.nr), diligence, 'TTM', n.category, n.amount, n.rationale, app.sandbox_id(sandbox, 'broker'), now - interval '14 days'
    from (values (1, 'owner_comp', 65000.00, 'The owner''s pay above that of a hired manager.'), (2, 'one_time', 18250.00, 'Settlement of a claim that cannot come again.')) n (nr, category, amount, rationale);

  insert into public.closing_conditions (id, deal_id, name, status, owner_user_id, deadline, completed_at, created_at, updated_at)
    select app.sandbox_id(sandbox, 'condition ' || c.nr), diligence, c.name, c.status, app.sandbox_id(sandbox, c.owner), today + c.days, case c.status when 'satisfied' then now - interval '5 days' end,
      now - interval '30 days', now - interval '5 days'
    from (values (1, 'Landlord agrees to the new lease', 'in_progress', 'broker', 21), (2, 'Bank commits to the loan', 'open', 'rosa', 35),
      (3, 'Licenses transferred', 'satisfied', 'seller', 10)) c (nr, name, status, owner, days);
  insert into public.findings (id, deal_id, participant_id, category, title, description, severity, status, status_notes, owner_user_id, created_by, created_at, updated_at)
    select app.sandbox_id(sandbox, 'finding ' || f.nr), diligence, app.sandbox_id(sandbox, 'diligence rosa'), f.category, f.title, f.description, f.severity, f.status, f.notes,
      app.sandbox_id(sandbox, 'advisor'), app.sandbox_id(sandbox, 'advisor'), now - interval '12 days', now - interval '6 days'
    from (values (1, 'financials', 'Deferred revenue of agreements is not in the books', 'Customers pay a year ahead; the books take it in at once.', 'major', 'open', null),
      (2, 'operations', 'Two vans are past 200,000 miles', null, 'minor', 'accepted', 'Priced into the offer.')) f (nr, category, title, description, severity, status, notes);
  -- Recording them has written down how they are, as of now.
  delete from public.finding_changes c using public.findings f where f.id = c.finding_id and f.deal_id = diligence;
  insert into public.finding_changes (finding_id, from_status, to_status, notes, changed_by, changed_at)
    select app.sandbox_id(sandbox, 'finding ' || c.nr), c.was, c.is_now, c.notes, app.sandbox_id(sandbox, 'advisor'), c.at
    from (values (1, null, 'open', null, now - interval '12 days'), (2, null, 'open', null, now - interval '12 days'),
      (2, 'open', 'accepted', 'Priced into the offer.', now - interval '6 days')) c (nr, was, is_now, notes, at);
  insert into public.finding_comments (id, finding_id, body, created_by, created_at)
    values (app.sandbox_id(sandbox, 'comment'), app.sandbox_id(sandbox, 'finding 1'), 'About $310,000 by our count.', app.sandbox_id(sandbox, 'advisor'), now - interval '11 days');
  insert into public.financing_sources (id, deal_id, participant_id, source_type, source_name, commitment_amount, currency, commitment_status, created_by, created_at, updated_at)
    select app.sandbox_id(sandbox, 'source ' || s.nr), diligence, app.sandbox_id(sandbox, 'diligence rosa'), s.type, s.name, s.amount, 'USD', s.status,
      app.sandbox_id(sandbox, 'rosa'), now - interval '33 days', now - interval '9 days'
    from (values (1, 'sba_7a', 'Three Ferries Bank', 2300000, 'term_sheet'), (2, 'seller_note', 'Marta Oduya', 600000, 'identified'),
      (3, 'cash_buyer_equity', 'Ferreira Search Partners', 400000, 'committed')) s (nr, type, name, amount, status);
end
$function$;

CREATE OR REPLACE FUNCTION app.finding_opens_to(role text, principal uuid, sides uuid[])
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((role = ANY (ARRAY['broker'::text, 'seller'::text])) OR (principal = ANY (sides)));
GRANT EXECUTE ON FUNCTION app.finding_opens_to(text,uuid,uuid[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.finish_sign_in(step bytea, code_step bigint, recovery_digest bytea, device bytea, token bytea, earlier bytea, address inet, agent text, request_id text)
 RETURNS TABLE(outcome text, user_id uuid, email text, name text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  person public.users;
  taken boolean;
begin
  perform from public.users u where u.id = (select s.user_id from vault.sign_in_steps s where s.digest = step) for share;
  select u.* into person from vault.sign_in_steps s join public.users u on u.id = s.user_id
    where s.digest = step and s.expires_at > app.now() and u.suspended_at is null for update of s;
  if not found then
    return query select 'expired', null::uuid, null::text, null::text;
    return;
  end if;
  if recovery_digest is null then
    taken := app.take_code(person.id, code_step, device);
  else
    update vault.recovery_codes r set used_at = app.now()
      where r.user_id = person.id and r.digest = recovery_digest and r.used_at is null;
    taken := found;
  end if;
  if taken then
    delete from vault.sign_in_steps s where s.digest = step;
    perform app.open_session(person.id, token, earlier, case when recovery_digest is null then 'code' else 'recovery_code' end,
      address, agent, request_id);
    return query select 'signed_in', person.id, person.email, person.name;
    return;
  end if;
  perform app.record(person.id, 'session.sign_in', 'refused', '{"reason": "second_factor"}', address,
    request_id);
  update vault.sign_in_steps s set failures = s.failures + 1 where s.digest = step;
  delete from vault.sign_in_steps s where s.digest = step and s.failures >= 5;
  return query select case when found then 'expired' else 'refused' end, person.id, person.email, person.name;
end
$function$;
GRANT EXECUTE ON FUNCTION app.finish_sign_in(bytea,bigint,bytea,bytea,bytea,bytea,inet,text,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.finish_upload()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  delete from vault.uploads u where u.storage_key = new.storage_key;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.first_answer(idempotency_key text, body_digest bytea, action text, address inet, request_id text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return app.first_answer(idempotency_key, body_digest, action, null, address, request_id);
end
$function$;
GRANT EXECUTE ON FUNCTION app.first_answer(text,bytea,text,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.first_answer(idempotency_key text, body_digest bytea, action text, subject text, address inet, request_id text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  earlier vault.idempotency_keys;
begin
  select k.* into earlier from vault.idempotency_keys k
  where k.key_id = app.key_id() and k.idempotency_key = first_answer.idempotency_key and k.made_at > app.now() - interval '24 hours';
  if not found then
    return null;
  end if;
  if earlier.body_digest <> first_answer.body_digest then
    perform app.refuse('idempotency_key_reused',
      'This Idempotency-Key was used with another body within the last 24 hours: send the same body, or use a new key.');
  end if;
  -- The answer to a batch is of no single thing, and may repeat half of a surrogate pair that was sent, which no jsonb takes.
  if action <> 'contact.batch' then
    subject := coalesce(earlier.answer::jsonb #>> '{body,id}', subject);
  end if;
  perform app.audit(action, subject, 'repeated', null, (select app.seen_deal(d) from app.narrowed_to() d where d is not null), address, request_id, '{}');
  return earlier.answer;
end
$function$;
GRANT EXECUTE ON FUNCTION app.first_answer(text,bytea,text,text,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.first_tool_answer(tool text, idempotency_key text, input_digest bytea)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  earlier vault.tool_call_keys;
begin
  select k.* into earlier from vault.tool_call_keys k
  where k.user_id = app.user_id() and k.client_id = app.client_id() and k.tool = first_tool_answer.tool
    and k.idempotency_key = first_tool_answer.idempotency_key and k.made_at > app.now() - interval '24 hours';
  if not found then
    return null;
  end if;
  if earlier.input_digest <> first_tool_answer.input_digest then
    perform app.refuse('idempotency_key_reused',
      'This key was used for this tool with other input within the last 24 hours: send the same input, or use a new key.');
  end if;
  return earlier.answer;
end
$function$;
GRANT EXECUTE ON FUNCTION app.first_tool_answer(text,text,bytea) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.folded(words text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (octet_length(words) = length(words)) THEN lower(words) ELSE app.folded_letters(words) END;
GRANT EXECUTE ON FUNCTION app.folded(text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.folded_letters(words text)
 RETURNS text
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
declare
  -- Without combining marks and vowel points, soft hyphens, the tatweel and what has no width.
  plain text := lower(regexp_replace(normalize(words, NFD),
    '[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u061c\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u00ad\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]',
    '', 'g'));
begin
  -- To look for them first costs a fifth of replacing them.
  if plain ~ '[øłıđςßæœ’‘ʼ“”׳״]' then
    plain := replace(replace(replace(translate(plain, 'øłıđς’‘ʼ“”׳״', 'olidσ''''''""''"'), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe');
  end if;
  return plain;
end
$function$;
GRANT EXECUTE ON FUNCTION app.folded_letters(text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.forget_accounts(gone uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  clients uuid[];
  of_person text;
begin
  perform app.end_sessions_of(g.id) from unnest(gone) g (id);
  select coalesce(array_agg(c.id), '{}') into clients from public.connected_clients c where c.created_by = any (gone) and c.brokerage_id is null;
  delete from vault.mail_counts m using public.users u
    where u.id = any (gone) and app.counted_of(m.subject) && array[u.id::text, u.email]
      and (m.subject like '% from ' || u.id || '%' or right(m.subject, length(u.email) + 4) = ' to ' || u.email);
  delete from vault.authorization_codes c where c.client_id = any (clients);
  delete from vault.token_families f where f.client_id = any (clients);
  delete from public.tool_grants g where g.user_id = any (gone) or g.client_id = any (clients);
  delete from public.connected_clients c where c.id = any (clients);
  delete from vault.outbox o where o.recipient_id = any (gone);
  delete from vault.events e where e.person_id = any (gone);
  delete from public.audit_records a where a.user_id = any (gone) and a.brokerage_id is null and a.deal_id is null;
  -- Everything that they sign in with, and what is theirs alone: each table of the vault that names its person.
  for of_person in
    select a.attrelid::regclass::text from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
    where c.relnamespace = 'vault'::regnamespace and c.relkind = 'r' and not c.relispartition and a.attname = 'user_id' and not a.attisdropped
    order by c.relname <> 'authorization_codes', c.relname
  loop
    execute format('delete from %s t where t.user_id = any ($1)', of_person) using gone;
  end loop;
  update public.users u set email = 'erased-' || gen_random_uuid() || '@erased.invalid',
      name = 'Former participant ' || upper(substr(replace(gen_random_uuid()::text, '-', ''), 1, 12)),
      erased_at = app.now(), suspended_at = coalesce(u.suspended_at, app.now())
    where u.id = any (gone);
end
$function$;

CREATE OR REPLACE FUNCTION app.forget_answers(overlap double precision)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  update vault.refresh_tokens t set answer = null, answer_scopes = null
    where t.answer is not null and t.consumed_clock < clock_timestamp() - make_interval(secs => overlap / 1000);
  return exists (select from vault.refresh_tokens t where t.answer is not null);
end
$function$;
GRANT EXECUTE ON FUNCTION app.forget_answers(double precision) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.forget_mailbox()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  address constant text := app.mailbox_of(old.email);
begin
  delete from vault.mail_counts m
    where app.counted_of(m.subject) @> array[address] and right(m.subject, length(address) + 4) = ' to ' || address;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.forget_node(node uuid)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
  delete from vault.nodes n where n.id = node;
$function$;
GRANT EXECUTE ON FUNCTION app.forget_node(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.forget_reminders()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  delete from vault.sent_reminders s where s.recipient_id = new.id or s.sent_by = new.id;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.forget_unattached(people uuid[])
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  gone uuid[];
begin
  -- Whoever is invited somewhere else has the account locked, and is there when it is asked again.
  gone := array(
    select u.id from public.users u
    where u.id = any (people) and u.erased_at is null
      and not exists (select from public.members m where m.user_id = u.id)
      and not exists (select from public.participants p where p.user_id = u.id)
    order by u.id for no key update);
  select coalesce(array_agg(g.id), '{}') into gone from unnest(gone) g (id)
    where not exists (select from public.members m where m.user_id = g.id)
      and not exists (select from public.participants p where p.user_id = g.id);
  if gone = '{}' then
    return 0;
  end if;
  perform app.forget_accounts(gone);
  return cardinality(gone);
end
$function$;

CREATE OR REPLACE FUNCTION app.forget_visits()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_table_name = 'users' then
    delete from vault.visits v where v.user_id = new.id;
  else
    delete from vault.visits v where v.user_id = new.user_id and v.deal_id = new.deal_id;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.forget_withdrawn(most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  before constant timestamptz := app.now() - interval '30 days';
  people uuid[];
  gone uuid[];
  cleared uuid[];
  part record;
begin
  lock table vault.legal_holds in row share mode;
  people := array(
    select k.user_id from (
      (select m.user_id from public.members m
        where m.joined_at is null and m.status = 'removed' and m.invited_email not like 'erased-%' and m.updated_at <= before
          and not exists (select from vault.legal_holds h where h.subject_id in (m.user_id, m.brokerage_id))
        order by m.updated_at limit most)
      union
      (select p.user_id from public.participants p
        where p.joined_at is null and p.status = 'removed' and p.invited_email not like 'erased-%' and p.updated_at <= before
          and not exists (select from vault.legal_holds h where h.subject_id in (p.user_id, p.deal_id, p.brokerage_id))
        order by p.updated_at limit most)) k);
  -- Whoever is being invited again has the account locked, and is there when it is asked again.
  people := array(select u.id from public.users u where u.id = any (people) order by u.id for no key update skip locked);
  if people = '{}' then
    return 0;
  end if;
  update public.members m set invited_name = 'Former participant', invited_email = 'erased-' || gen_random_uuid() || '@erased.invalid'
    where m.user_id = any (people) and m.joined_at is null and m.status = 'removed' and m.invited_email not like 'erased-%' and m.updated_at <= before
      and not exists (select from vault.legal_holds h where h.subject_id in (m.user_id, m.brokerage_id));
  cleared := array(
    select p.id from public.participants p
    where p.user_id = any (people) and p.joined_at is null and p.status = 'removed' and p.invited_email not like 'erased-%' and p.updated_at <= before
      and not exists (select from vault.legal_holds h where h.subject_id in (p.user_id, p.deal_id, p.brokerage_id))
    order by p.id for no key update);
  -- Names that declined invitations were for, in the trail: the declined ones of a brokerage, by their index, from the first invitation of these until the last was over.
  for part in
    select p.brokerage_id, array_agg(p.id::text) as ids, min(p.created_at) as first_at, max(p.updated_at) as last_at
    from public.participants p where p.id = any (cleared) group by p.brokerage_id order by p.brokerage_id
  loop
    update public.audit_records a set details = a.details || '{"name": "Former participant"}'
      where a.brokerage_id = part.brokerage_id and a.action collate "C" = 'invitation.decline' and a.action not like 'tool:%'
        and a.at between part.first_at and part.last_at + interval '1 minute' and a.subject_id = any (part.ids) and a.details ? 'name';
  end loop;
  update public.participants p set invited_name = 'Former participant', invited_email = 'erased-' || gen_random_uuid() || '@erased.invalid'
    where p.id = any (cleared);
  perform app.clear_answers_about(cleared || array(select n.id from public.ndas n where n.participant_id = any (cleared)));
  gone := array(select u.id from public.users u
    where u.id = any (people) and u.erased_at is null and u.sandbox_id is null
      and not exists (select from vault.passwords w where w.user_id = u.id)
      and not exists (select from vault.passkeys k where k.user_id = u.id)
      and not exists (select from public.members m where m.user_id = u.id
        and (m.joined_at is not null or m.status <> 'removed' or m.invited_email not like 'erased-%'))
      and not exists (select from public.participants p where p.user_id = u.id
        and (p.joined_at is not null or p.status <> 'removed' or p.invited_email not like 'erased-%')));
  if gone <> '{}' then
    perform app.forget_accounts(gone);
  end if;
  return cardinality(people);
end
$function$;

CREATE OR REPLACE FUNCTION app.go_on_with_webhook(endpoint uuid, events jsonb, reached bigint)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform set_config('dealkeep.identity', '', true), set_config('dealkeep.seal', '', true);
  perform app.write_deliveries(endpoint, false, events);
  update public.webhook_endpoints e set place = greatest(e.place, reached), freed = null,
      queue_at = case when reached < (select s.published from vault.change_stream s) then app.now() + interval '1 minute' end
    where e.id = endpoint;
end
$function$;
GRANT EXECUTE ON FUNCTION app.go_on_with_webhook(uuid,jsonb,bigint) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.grant_tool(client_id uuid, tool text, expires_at timestamp with time zone, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  person constant uuid := app.user_id();
begin
  if person is null or app.client_id() is not null or not app.session_goes_on() then
    return false;
  end if;
  perform app.hold_client(grant_tool.client_id, person);
  if not app.client_works_for(grant_tool.client_id, person) then
    return false;
  end if;
  perform app.check_until(grant_tool.expires_at);
  insert into public.tool_grants as g (user_id, client_id, tool, expires_at)
    values (person, grant_tool.client_id, grant_tool.tool, grant_tool.expires_at)
    on conflict on constraint tool_grants_pkey do update set expires_at = excluded.expires_at, granted_at = excluded.granted_at;
  perform app.audit('tool_grant.on', grant_tool.client_id::text, 'done', app.brokerage_of_grant(person, grant_tool.client_id),
    null, address, request_id, jsonb_build_object('tool', tool, 'expires_at', expires_at));
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.grant_tool(uuid,text,timestamp with time zone,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.guard_document_client()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  -- Whoever writes to the table themselves; the function below does it as the owner.
  if current_user = session_user then
    perform app.refuse('from_document', 'The name and the redirect URIs of this client come from its own document. Disconnect or delete it instead.');
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.guard_recent_sign_in()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.check_recent_sign_in();
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.hand_over_deals(of_brokerage uuid, member uuid, successor uuid, which text, chosen uuid[], leaves boolean, address inet, request_id text)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  handed_over integer := 0;
  deal uuid;
  own uuid;
begin
  if app.client_id() is not null or (of_brokerage = any (app.brokerages_as('admin'))) is not true then
    return null;
  end if;
  -- In the order of app.remove_member().
  perform from public.users u where u.id = successor for share;
  perform from public.members m
    where m.brokerage_id = of_brokerage and m.user_id in (member, successor) order by m.user_id for no key update;
  if not exists (select from public.members m where m.brokerage_id = of_brokerage and m.user_id = member and m.status = 'active') then
    return null;
  end if;
  if successor = member or not exists (
    select from public.members m join public.users u on u.id = m.user_id and u.suspended_at is null
    where m.brokerage_id = of_brokerage and m.user_id = successor and m.status = 'active' and m.role in ('admin', 'broker'))
  then
    perform app.refuse('not_a_broker', 'The successor is another active admin or broker of the brokerage: choose one.');
  end if;
  if which = 'chosen' then
    perform from public.participants p
      where p.deal_id = any (chosen) and p.brokerage_id = of_brokerage
        and (p.user_id in (member, successor) or p.advises = any (array(
          select o.id from public.participants o where o.deal_id = any (chosen) and o.user_id in (member, successor))))
      order by p.advises is not null, p.id for no key update;
    perform from public.deals d where d.id = any (chosen) and d.organization_id = of_brokerage order by d.id for no key update;
  else
    -- Whoever loses their role next is removed from deals by app.end_parts_of_member(), which locks the brokerage of an admin, and whom they invited to it, before
    -- their deals.
    perform from public.brokerages b join public.members m on m.brokerage_id = b.id
      where b.id = of_brokerage and m.user_id = member and m.role = 'admin' for no key update of b;
    perform from public.members m
      where m.brokerage_id = of_brokerage and m.user_id = any (array(select app.member_invitations_made(member, of_brokerage)))
      order by m.user_id for update;
    perform app.lock_parts(member, of_brokerage, successor);
  end if;
  for deal, own in
    select d.id, p.id from public.participants p join public.deals d on d.id = p.deal_id
    where p.user_id = member and p.role = 'broker' and p.status = 'active' and d.organization_id = of_brokerage and d.state not in ('closed', 'withdrawn')
      and case which
        when 'all' then true
        when 'alone' then d.id in (select a.id from app.deals_run_alone(of_brokerage, member) a)
        else d.id = any (chosen) end
    order by d.id
  loop
    if not exists (select from public.participants p
      where p.deal_id = deal and p.user_id = successor and p.role = 'broker' and p.status = 'active')
    then
      perform app.audit('deal.hand_over', app.appoint_broker(deal, successor)::text, 'done', null, deal, address, request_id, '{}');
    end if;
    if leaves then
      update public.participants p set status = 'removed' where p.id = own;
      perform app.audit('participant.remove', own::text, 'done', null, deal, address, request_id,
        case when member = app.user_id() then '{"left": true}'::jsonb else '{}' end);
    end if;
    handed_over := handed_over + 1;
  end loop;
  return handed_over;
end
$function$;
GRANT EXECUTE ON FUNCTION app.hand_over_deals(uuid,uuid,uuid,text,uuid[],boolean,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.has_broker(deal_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (select from public.participants p join public.users u on u.id = p.user_id and u.suspended_at is null
    where p.deal_id = has_broker.deal_id and p.role = 'broker' and p.status = 'active');
end
$function$;
GRANT EXECUTE ON FUNCTION app.has_broker(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.has_caller()
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN (app.identity() IS NOT NULL);
GRANT EXECUTE ON FUNCTION app.has_caller() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.has_key_ended(key uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN (EXISTS (SELECT FROM public.api_keys k WHERE ((k.id = has_key_ended.key) AND ((k.revoked_at IS NOT NULL) OR (k.expires_at <= app.now())))));

CREATE OR REPLACE FUNCTION app.has_second_factor(person uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (select from vault.totp t where t.user_id = person and t.confirmed_at is not null)
    or exists (select from vault.passkeys k where k.user_id = person);
end
$function$;

CREATE OR REPLACE FUNCTION app.has_seller(deal uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (select from public.participants p join public.users u on u.id = p.user_id and u.suspended_at is null
    where p.deal_id = has_seller.deal and p.role = 'seller' and p.status = 'active');
end
$function$;

CREATE OR REPLACE FUNCTION app.has_shown_factor()
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (select from vault.sessions s where s.id = app.identity_part(6)::uuid and s.second_factor_at is not null);
end
$function$;

CREATE OR REPLACE FUNCTION app.has_tenant_by_trigger(of_table oid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select exists (select from pg_catalog.pg_trigger t where t.tgrelid = of_table and t.tgname = 'set_tenant')
$function$;
GRANT EXECUTE ON FUNCTION app.has_tenant_by_trigger(oid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.hold_client(client_id uuid, person uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform from public.users u where u.id = person for share;
  -- Whoever changes the client at this moment, or ends the membership for which it works, is waited for, and ends what was given by then.
  perform from public.connected_clients c where c.id = hold_client.client_id for share;
  perform from public.members m
    where m.user_id = person and m.brokerage_id = (select c.brokerage_id from public.connected_clients c where c.id = hold_client.client_id) for share;
end
$function$;

CREATE OR REPLACE FUNCTION app.hold_on_brokerage(brokerage uuid)
 RETURNS TABLE(kind text, subject_id uuid)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
begin
  lock table vault.legal_holds in row share mode;
  -- Fenced by offsets: or all who take part in deals of the brokerage are read, to look the few of a hold up among them.
  return query
    select h.kind, h.subject_id from vault.legal_holds h
    where not app.is_sandbox(brokerage) and case h.kind
      when 'brokerage' then h.subject_id = brokerage
      when 'deal' then exists (select from public.deals d where d.id = h.subject_id and d.organization_id = brokerage offset 0)
      else exists (select from public.members m where m.user_id = h.subject_id and m.brokerage_id = brokerage)
        or exists (select from public.participants p join public.deals d on d.id = p.deal_id
          where p.user_id = h.subject_id and d.organization_id = brokerage offset 0)
        or exists (select from public.users u
          cross join lateral (
            select from public.contacts c
              where c.brokerage_id = brokerage and lower(c.email) = u.email and c.email is not null and c.archived_at is null
            union all
            select from public.contacts c
              where c.brokerage_id = brokerage and lower(c.email) = u.email and c.email is not null and c.archived_at is not null
            offset 0) c
          where u.id = h.subject_id)
      end
    order by h.kind, h.subject_id limit 1;
end
$function$;

CREATE OR REPLACE FUNCTION app.hold_on_person(person uuid)
 RETURNS TABLE(kind text, subject_id uuid, title text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
begin
  lock table vault.legal_holds in row share mode;
  return query
    with parts as (
      select d.id, d.title, d.organization_id from public.participants p join public.deals d on d.id = p.deal_id where p.user_id = person
    ), brokerages as (
      select m.brokerage_id as id from public.members m where m.user_id = person
      union select s.organization_id from parts s
      union select c.brokerage_id from public.users u cross join lateral app.contacts_with_address(u.email) c where u.id = person
    )
    select h.kind, h.subject_id, coalesce(s.title, b.name, u.name)
    from vault.legal_holds h
    left join parts s on h.kind = 'deal' and s.id = h.subject_id
    left join public.brokerages b on h.kind = 'brokerage' and b.id = h.subject_id
    left join public.users u on h.kind = 'person' and u.id = h.subject_id
    where s.id is not null or (h.kind = 'person' and h.subject_id = person)
      or (h.kind = 'brokerage' and h.subject_id in (select g.id from brokerages g))
    order by h.kind desc, h.subject_id limit 1;
end
$function$;

CREATE OR REPLACE FUNCTION app.hold_session()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if not app.session_goes_on() then
    perform app.refuse('recent_sign_in_required', 'Confirm that it is you: sign in again, then repeat this.');
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION app.hold_session_of_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.hold_session();
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.hold_webhook_admins()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  issuers constant uuid[] := app.issuers_in_force(app.key_id());
begin
  if app.key_id() is null then
    perform app.hold_session();
    perform from public.members m where m.user_id = app.user_id() and m.role = 'admin' and m.status = 'active' order by m.brokerage_id for share;
    return;
  end if;
  perform from public.users u where u.id = any (issuers) order by u.id for share;
  perform from public.members m
    where m.brokerage_id = (select k.brokerage_id from public.api_keys k where k.id = app.key_id()) and m.user_id = any (issuers) order by m.user_id for share;
  if issuers = '{}' or not issuers <@ app.issuers_in_force(app.key_id()) then
    raise insufficient_privilege using message = 'not a key of an admin of this brokerage';
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION app.home(with_findings boolean)
 RETURNS TABLE(part text, kind text, deal_id uuid, deal_title text, count integer, due_at timestamp with time zone, waiting_since timestamp with time zone, id uuid, at timestamp with time zone, user_id uuid, client_id uuid, action text, subject_id text, outcome text, details jsonb, is_own boolean, due_on date)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_nestloop TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  administered constant uuid[] := app.brokerages_as('admin');
  now constant timestamptz := app.now();
  due_by constant date := app.last_day_over(now + interval '7 days');
  overdue_by constant date := app.last_day_over(now);
begin
  if me is null then
    return;
  end if;
  return query
    with mine as materialized (
      select o.deal_id as id, o.state, o.role, o.principal_id, o.side, o.state not in ('closed', 'withdrawn') as goes_on,
        o.state not in ('draft', 'listed', 'withdrawn', 'closed') as is_sold, o.organization_id = any (administered) as by_brokerage,
        o.stage, o.holder_id, o.granted_at, o.expires_at
      from vault.deals_of_people o
      where o.user_id = me and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed)),
    administered_only as materialized (
      select t.id, t.state, t.state not in ('draft', 'listed', 'withdrawn', 'closed') as is_sold from public.deals t
      where t.organization_id = any (administered) and not exists (select from mine where mine.id = t.id)),
    -- Which deals each of the queries below is about, from one pass.
    lists as materialized (
      select array_agg(m.id) filter (where m.role = 'broker' and m.goes_on) as run,
        array_agg(m.id) filter (where m.role = 'seller' and m.goes_on) as sells,
        array_agg(m.principal_id) filter (where m.role = 'buyer' and m.goes_on) as signers,
        array_agg(m.id) filter (where m.state = 'listed' and m.role in ('broker', 'seller')) as listed,
        array_agg(m.id) filter (where m.role = 'broker') as brokered,
        array_agg(m.id) filter (where m.role <> 'broker') as taken_part
      from mine m),
    -- Deals before an offer was accepted have neither a stage nor an exclusivity that has not ended.
    sold as materialized (
      select m.id, m.state, m.role, m.principal_id, m.side, true as mine, m.by_brokerage, m.stage, m.holder_id as holder, m.granted_at, m.expires_at,
        coalesce(m.expires_at > now, false) as runs
      from mine m where m.is_sold
      union all
      select b.id, b.state, null, null, null, false, true, g.state, x.participant_id, x.granted_at, x.expires_at, coalesce(x.expires_at > now, false)
      from administered_only b
      left join (select s.deal_id, s.state from public.deal_stages s where s.deal_id = any (array(select b.id from administered_only b where b.is_sold))) g
        on g.deal_id = b.id
      left join (select e.deal_id, e.participant_id, e.granted_at, e.expires_at from public.exclusivities e
        where e.deal_id = any (array(select b.id from administered_only b where b.is_sold)) and e.ended_at is null) x on x.deal_id = b.id
      where b.is_sold),
    -- Where offers can still be accepted: listed or under offer, also again, after an exclusivity that has lapsed.
    acceptable as materialized (select array_cat((select l.listed from lists l),
      array(select s.id from sold s where s.role in ('broker', 'seller') and s.state = 'under_offer'
        and (s.stage is null or (s.stage = 'exclusivity' and not s.runs)))) as deals),
    -- Of these the caller may know who holds the exclusivity, and what was offered and decided.
    held as materialized (select array(
      select s.id from sold s where s.mine and (s.role = 'broker' or s.side = 'seller' or s.side = 'buyer' and s.holder = s.principal_id) and s.holder is not null) as deals),
    decided as materialized (
      select c.offer_id, c.participant_id, c.decision, c.decided_at from public.offer_decisions c
      where c.deal_id = any ((select held.deals from held)::uuid[])),
    -- Answers to the caller that they have not read. They are looked for before the deals are: there are few.
    unread as materialized (
      select m.id, m.principal_id, a.read_until, a.first_at
      from (select a.deal_id, a.first_at, r.read_until from (select a.deal_id, a.at, a.first_at from vault.answers_of_people a where a.user_id = me) a
        left join (select r.deal_id, r.read_until from public.answer_readings r where r.user_id = me) r on r.deal_id = a.deal_id
        where r.read_until is null or r.read_until < a.at offset 0) a
      join mine m on m.id = a.deal_id
      where m.side = 'buyer' and m.goes_on),
    -- Where they have read none, it is known since when they wait: of these no more are counted than the page shows.
    unread_longest as materialized (
      select u.id, u.principal_id, u.read_until from unread u where u.read_until is not null or u.first_at is null
      union all
      (select u.id, u.principal_id, null from unread u where u.read_until is null and u.first_at is not null order by u.first_at, u.id limit 200)),
    findings as materialized (
      select f.deal_id, f.participant_id, f.created_at from public.findings f where with_findings and f.status = 'open' and f.owner_user_id = me),
    waiting (kind, deal_id, count, due_on, since) as (
      select case t.status when 'pending_broker_review' then 'questions_to_review' else 'answers_to_distribute' end, t.deal_id, count(*),
          null::date, min(case t.status when 'answered' then t.updated_at else t.asked_at end)
        from public.questions t
        where t.deal_id = any ((select l.run from lists l)::uuid[]) and t.status in ('pending_broker_review', 'with_seller', 'answered') and t.status <> 'with_seller'
        group by t.deal_id, t.status
      union all
      select 'questions_to_answer', t.deal_id, count(*), null, min(t.updated_at)
        from public.questions t
        where t.deal_id = any ((select l.sells from lists l)::uuid[]) and t.status = 'with_seller' group by t.deal_id
      union all
      select 'answers_to_read', t.deal_id, count(*), null, min(t.distributed_at)
        from unread_longest u
        join (select q.deal_id, q.distributed_at from public.questions q
          where q.status = 'distributed' and q.participant_id = any (array(select u.principal_id from unread_longest u))) t on t.deal_id = u.id
        where u.read_until is null or u.read_until < coalesce(t.distributed_at, '-infinity')
        group by t.deal_id
      union all
      select 'ndas_to_sign', t.deal_id, count(*), null, min(t.sent_at)
        from public.ndas t
        where t.status = 'sent' and (t.expires_at is null or t.expires_at > now)
          and t.participant_id = any ((select l.signers from lists l)::uuid[])
        group by t.deal_id
      union all
      select 'ndas_unsigned', t.deal_id, count(*), null, min(t.sent_at)
        from public.ndas t
        where t.status = 'sent' and (t.expires_at is null or t.expires_at > now) and t.deal_id = any ((select l.run from lists l)::uuid[])
          and not exists (select from public.participants x
            where x.deal_id = any ((select l.run from lists l)::uuid[]) and x.status = 'removed' and x.id = t.participant_id)
        group by t.deal_id
      union all
      select 'offers_to_consider', t.deal_id, count(*), null, min(t.submitted_at)
        from public.offers t
        where t.is_current and t.deal_id = any ((select a.deals from acceptable a)::uuid[])
          and not exists (select from public.offers x
            where x.is_current and x.deal_id = any ((select a.deals from acceptable a)::uuid[]) and x.payload ->> 'expires_at' is not null
              and app.time_in(x.payload ->> 'expires_at') <= now and x.id = t.id)
          and not exists (select from public.participants x
            where x.deal_id = any ((select a.deals from acceptable a)::uuid[]) and x.status <> 'active' and x.id = t.participant_id)
          and not exists (select from public.offer_decisions x
            where x.deal_id = any ((select a.deals from acceptable a)::uuid[]) and x.decision = 'declined' and x.offer_id = t.id)
        group by t.deal_id
      union all
      -- Who does not decide, the seller and the buyer's side, is told whom it waits for.
      select change.kind, t.deal_id, count(*), null, min(t.submitted_at)
        from sold s
        join (select o.id, o.deal_id, o.participant_id, o.submitted_at from public.offers o
          where o.deal_id = any ((select held.deals from held)::uuid[]) and o.is_current) t
          on t.participant_id = s.holder
        cross join lateral (select case when s.role = 'broker' then 'offer_changes_to_decide'
          when s.side = 'seller' or s.side = 'buyer' and s.holder = s.principal_id then 'offer_changes_with_broker' end) change (kind)
        where s.mine and change.kind is not null and (s.runs or s.stage in ('diligence', 'closing'))
          and not exists (select from decided c where c.offer_id = t.id)
          and exists (select from decided c where c.participant_id = s.holder and c.decision = 'accepted' and c.decided_at >= s.granted_at)
        group by change.kind, t.deal_id
      union all
      -- A week ahead: one's own, and for brokers those that nobody has, or somebody who left, or that nobody has met in time.
      select 'conditions_due', t.deal_id, count(*), min(t.deadline), null
        from (
          select c.id, c.deal_id, c.deadline from public.closing_conditions c
          left join mine d on d.id = c.deal_id and d.goes_on
          left join sold s on s.id = d.id and d.side = 'buyer' and s.holder = d.principal_id and (s.runs or s.stage is distinct from 'exclusivity')
          where c.owner_user_id = me and c.status in ('open', 'in_progress') and c.deadline <= due_by
            and (d.side in ('broker', 'seller', 'viewer') or s.id is not null
              or (administered <> '{}' and exists (select from public.deals a
                where a.id = c.deal_id and a.organization_id = any (administered) and a.state not in ('closed', 'withdrawn'))))
          union
          select c.id, c.deal_id, c.deadline from public.closing_conditions c
          where c.deal_id = any ((select l.run from lists l)::uuid[]) and c.status in ('open', 'in_progress') and c.deadline <= due_by
            and (c.owner_user_id is null or c.deadline <= overdue_by
              or (select p.status <> 'active' from public.participants p where p.deal_id = c.deal_id and p.user_id = c.owner_user_id))) t
        group by t.deal_id
      union all
      select 'findings_open', t.deal_id, count(*), null, min(t.created_at)
        from findings t
        -- Without findings no table is made of all deals to look for theirs in.
        join (select m.id, m.side, m.principal_id from mine m where m.goes_on and exists (select from findings)) d on d.id = t.deal_id
        where d.side in ('broker', 'seller') or d.side = 'buyer' and t.participant_id = d.principal_id
        group by t.deal_id),
    first as materialized (select w.*, app.end_of(w.due_on) as due_at from waiting w order by coalesce(app.end_of(w.due_on), w.since), w.deal_id, w.kind limit 200),
    -- Of these, what is of somebody who was a buyer and has another role by now, and the questions of those who left: nobody has to do anything about it. It is
    -- looked for last, being rare.
    not_buyers as materialized (
      select 'offers_to_consider' as kind, o.deal_id, count(*) as count
        from (select o.deal_id, o.participant_id from public.offers o
          where o.is_current and o.deal_id = any (array(select f.deal_id from first f where f.kind = 'offers_to_consider'))
            and (o.payload ->> 'expires_at' is null or app.time_in(o.payload ->> 'expires_at') > now)
            and not exists (select from public.offer_decisions x
              where x.deal_id = any (array(select f.deal_id from first f where f.kind = 'offers_to_consider')) and x.decision = 'declined' and x.offer_id = o.id)
          offset 0) o
        where (select p.role <> 'buyer' and p.status = 'active' from public.participants p where p.id = o.participant_id)
        group by o.deal_id
      union all
      select 'ndas_unsigned', n.deal_id, count(*)
        from (select n.deal_id, n.participant_id from public.ndas n
          where n.status = 'sent' and (n.expires_at is null or n.expires_at > now)
            and n.deal_id = any (array(select f.deal_id from first f where f.kind = 'ndas_unsigned')) offset 0) n
        where (select p.role <> 'buyer' and p.status <> 'removed' from public.participants p where p.id = n.participant_id)
        group by n.deal_id
      union all
      select q.kind, q.deal_id, count(*)
        from (select case q.status when 'pending_broker_review' then 'questions_to_review' when 'with_seller' then 'questions_to_answer'
            else 'answers_to_distribute' end as kind, q.deal_id, q.participant_id
          from public.questions q
          where q.status in ('pending_broker_review', 'with_seller', 'answered') and q.deal_id = any (array(
            select f.deal_id from first f where f.kind in ('questions_to_review', 'questions_to_answer', 'answers_to_distribute'))) offset 0) q
        where not app.is_buyer_still(q.participant_id)
        group by q.kind, q.deal_id),
    -- Of a deal without a stage everybody sees the same state.
    staged as materialized (
      select s.id, s.state as state_for_all, s.expires_at,
        case when k.lapsed and s.state in ('under_offer', 'exclusivity') then 'listed' when k.knows_stage then s.stage else s.state end as state,
        (k.of_the_deal or k.of_the_exclusive_buyer) and (s.runs or (k.knows_stage and s.stage <> 'exclusivity')) as shows_exclusivity
      from sold s
      cross join lateral (select coalesce(s.side in ('broker', 'seller', 'viewer') or s.by_brokerage, false) as of_the_deal,
        coalesce(s.holder = s.principal_id, false) as of_the_exclusive_buyer) w
      cross join lateral (select w.*, w.of_the_deal or (s.side = 'buyer' and w.of_the_exclusive_buyer and (s.runs or s.stage <> 'exclusivity')) as knows_stage,
        s.stage = 'exclusivity' and not s.runs as lapsed) k
      where s.stage is not null),
    running as materialized (
      select s.id, s.expires_at from staged s
      where s.shows_exclusivity and s.expires_at > now and s.state in ('exclusivity', 'diligence', 'closing')
      order by s.expires_at, s.id limit 20),
    -- The last eight records of activity are on the eight deals with the last ones, also those of a brokerage.
    busiest as materialized (
      (select a.deal_id, null::uuid as tenant from vault.deal_activity a where a.deal_id = any ((select l.brokered from lists l)::uuid[])
        order by a.at desc, a.record_id desc limit 8)
      union all
      select a.deal_id, b.id from unnest(administered) b (id) cross join lateral (
        select a.deal_id from vault.deal_activity a where a.brokerage_id = b.id order by a.at desc, a.record_id desc limit 8) a),
    own_busiest as materialized (
      select a.deal_id from vault.own_activity a
      where a.user_id = me and a.deal_id = any ((select l.taken_part from lists l)::uuid[])
      order by a.at desc, a.record_id desc limit 8),
    acts as materialized (
      select c.*, true as is_own from (
        select a.id, a.at, a.user_id, a.client_id, a.deal_id, a.action, a.subject_id, a.outcome, a.details from busiest b cross join lateral (
          select a.* from public.audit_records a
          where a.deal_id = b.deal_id and a.noted and (b.tenant is null or a.brokerage_id = b.tenant)
          order by a.at desc, a.id desc limit 8) a
        union
        select a.id, a.at, a.user_id, a.client_id, a.deal_id, a.action, a.subject_id, a.outcome, a.details from own_busiest b cross join lateral (
          select a.* from public.audit_records a
          where a.user_id = me and case when a.noted then a.deal_id end = b.deal_id and a.noted and a.deal_id is not null
          order by a.at desc, a.id desc limit 8) a
        order by at desc, id desc limit 8) c),
    latest as materialized (
      select l.* from (
        select acts.* from acts
        union all
        select s.*, false from app.activity_in_sight() s where not exists (select from acts where acts.id = s.id)) l
      order by l.at desc, l.id desc limit 8),
    named as materialized (
      select t.id, t.title from public.deals t
      where t.id = any (array(select first.deal_id from first union select running.id from running union select latest.deal_id from latest)))
    (select 'queue', f.kind, f.deal_id, n.title, (f.count - coalesce(b.count, 0))::int, f.due_at, f.since, null::uuid, null::timestamptz, null::uuid, null::uuid, null, null, null, null::jsonb, null::boolean, f.due_on
     from first f join named n on n.id = f.deal_id left join not_buyers b on b.kind = f.kind and b.deal_id = f.deal_id
     where f.count > coalesce(b.count, 0) order by coalesce(f.due_at, f.since), f.deal_id, f.kind)
    union all
    (select 'state', c.state, null, null, sum(c.count)::int, null, null, null, null, null, null, null, null, null, null, null, null
     from (select m.state, count(*) as count from mine m group by m.state
       union all select b.state, count(*) from administered_only b group by b.state
       union all select s.state_for_all, - count(*) from staged s group by s.state_for_all
       union all select s.state, count(*) from staged s group by s.state) c
     group by c.state having sum(c.count) > 0 order by c.state)
    union all
    (select 'exclusivity', null, r.id, n.title, null, r.expires_at, null, null, null, null, null, null, null, null, null, null, null
     from running r join named n on n.id = r.id order by r.expires_at, r.id)
    union all
    (select 'activity', null, l.deal_id, n.title, null, null, null, l.id, l.at, l.user_id, l.client_id, l.action, l.subject_id, l.outcome, l.details,
       l.is_own, null
     from latest l join named n on n.id = l.deal_id order by l.at desc, l.id desc);
end
$function$;
GRANT EXECUTE ON FUNCTION app.home(boolean) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.host_of(url text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO ''
AS $function$
  select substring(url from '^[a-z]+://(?:[^/?#@]*@)?([^/?#]*)')
$function$;

CREATE OR REPLACE FUNCTION app.identity()
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  identity constant text := current_setting('dealkeep.identity', true);
  secret bytea;
begin
  if identity <> '' then
    select s.secret into secret from vault.seal s;
    if current_setting('dealkeep.seal', true) = app.seal_of(identity, secret) then
      return identity;
    end if;
  end if;
  return null;
end
$function$;
GRANT EXECUTE ON FUNCTION app.identity() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.identity_part(nth integer)
 RETURNS text
 LANGUAGE sql
 STABLE
RETURN NULLIF(split_part(app.identity(), ','::text, nth), ''::text);
GRANT EXECUTE ON FUNCTION app.identity_part(integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.integrations_of_member(by_brokerage uuid, by_member uuid)
 RETURNS TABLE(keys jsonb, webhooks jsonb)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if (by_brokerage = any (app.brokerages_as('admin')) and app.client_id() is null) is not true then
    return;
  end if;
  return query
    select
      (select coalesce(jsonb_agg(jsonb_build_object('id', k.id, 'name', k.name, 'scopes', k.scopes,
        'kept', app.scopes_of(k.scopes, null)) order by app.folded(k.name), k.id), '[]') from (
        select a.id, a.name, a.scopes from app.keys_held_by(by_member, by_brokerage) a where app.is_key_in_force(a.id)
        order by app.folded(a.name), a.id limit 500) k),
      (select coalesce(jsonb_agg(jsonb_build_object('id', w.id, 'url', w.url, 'description', w.description) order by w.url, w.id), '[]') from (
        select e.id, e.url, e.description from public.webhook_endpoints e
        where e.brokerage_id = by_brokerage and e.state = 'on' and e.id = any (array(
          select own.id from public.webhook_endpoints own where own.created_by = by_member
          union all
          select by_key.id from vault.api_key_digests d join public.webhook_endpoints by_key on by_key.key_id = d.key_id and by_key.created_by is null
            where d.issued_by = by_member and (d.valid_until is null or d.valid_until > app.now())))
        order by e.url, e.id limit 500) w);
end
$function$;
GRANT EXECUTE ON FUNCTION app.integrations_of_member(uuid,uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.invitation(token bytea)
 RETURNS TABLE(user_id uuid, email text, name text, role text, brokerage_name text, deal_id uuid, deal_title text, has_password boolean, moved boolean)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return query
    select u.id, coalesce(m.invited_email, p.invited_email, u.email), coalesce(m.invited_name, p.invited_name, u.name),
      coalesce(m.role, p.role), b.name, d.id, d.title,
      case when i.mailed then exists (select from vault.passwords w where w.user_id = u.id) end,
      i.mailed and u.email <> coalesce(m.invited_email, p.invited_email, u.email)
    from vault.invitations i
    join public.users u on u.id = i.user_id
    left join public.members m on m.brokerage_id = i.brokerage_id and m.user_id = i.user_id and m.status = 'invited'
    left join public.participants p on p.id = i.participant_id and p.status = 'invited'
    left join public.deals d on d.id = p.deal_id
    join public.brokerages b on b.id = coalesce(m.brokerage_id, d.organization_id)
    where i.digest = token and i.used_at is null and i.expires_at > app.now();
end
$function$;
GRANT EXECUTE ON FUNCTION app.invitation(bytea) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.invite_member(to_brokerage uuid, given_email text, given_name text, as_role text, token bytea, mailed boolean, address inet, request_id text, again uuid DEFAULT NULL::uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  typed text := lower(given_email);
  invited uuid;
  present text;
  elsewhere record;
  other uuid;
  known_as uuid;
  lapsed boolean;
  waits constant text := 'An invitation to this address is waiting already: choose “Invite again” beside it, or withdraw it first.';
begin
  if to_brokerage is null or not to_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    raise insufficient_privilege using message = 'not an admin of this brokerage';
  end if;
  -- Whoever was once a member is invited themselves, whatever address they have now.
  select m.user_id into invited from public.members m
    where m.brokerage_id = to_brokerage and m.person_id = again and m.joined_at is not null;
  if found then
    select u.email into present from public.users u where u.id = invited and u.erased_at is null for share;
    if not found then
      perform app.refuse('address_not_taken', 'No e-mail can be sent to this address.');
    end if;
    if invite_member.mailed then
      typed := present;
    end if;
  else
    invited := app.account_at(typed, given_name);
  end if;
  if exists (select from public.members m
    where m.brokerage_id = to_brokerage and m.user_id = invited and m.status = 'active')
  then
    perform app.refuse('already_member', 'This person is a member already.');
  end if;
  perform from public.members m
    where m.brokerage_id = to_brokerage and m.status = 'invited' and m.invited_email = typed order by m.user_id for update;
  lapsed := found;
  -- Read after the lock: whoever had it may have sent a link.
  if again is null and exists (select from public.members m
    join vault.invitations i on i.user_id = m.user_id and i.brokerage_id = m.brokerage_id and i.used_at is null and i.expires_at > app.now()
    where m.brokerage_id = to_brokerage and m.status = 'invited' and m.invited_email = typed)
  then
    perform app.refuse('already_invited', waits);
  end if;
  -- As in app.invite_to_deal().
  select m.invited_email, m.invited_name into elsewhere from public.members m
    where m.brokerage_id = to_brokerage and m.user_id = invited
      and m.joined_at is null and m.invited_email <> typed and m.invited_email not like '%@erased.invalid';
  if found then
    other := app.account_at(elsewhere.invited_email, elsewhere.invited_name);
    update public.members m set user_id = other
      where m.brokerage_id = to_brokerage and m.user_id = invited and m.joined_at is null
        and not exists (select from public.members o where o.brokerage_id = to_brokerage and o.user_id = other);
    if found then
      update vault.invitations i set user_id = other where i.user_id = invited and i.brokerage_id = to_brokerage and i.used_at is null;
    end if;
  end if;
  update public.members m set user_id = invited
    where m.brokerage_id = to_brokerage
      and m.user_id = (select o.user_id from public.members o
        where o.brokerage_id = to_brokerage and o.joined_at is null and o.invited_email = typed order by o.user_id limit 1)
      and m.user_id <> invited and m.joined_at is null
      and not exists (select from public.members o where o.brokerage_id = to_brokerage and o.user_id = invited);
  -- Or they have just accepted, or been invited.
  insert into public.members as m (brokerage_id, user_id, role, status, invited_name, invited_email)
    values (to_brokerage, invited, as_role, 'invited', given_name, typed)
    on conflict (brokerage_id, user_id) do update set role = excluded.role, status = 'invited',
      invited_name = excluded.invited_name, invited_email = excluded.invited_email
    where m.status = 'removed' or m.status = 'invited' and (again is not null or lapsed or m.invited_email <> excluded.invited_email)
    returning m.person_id into known_as;
  if not found then
    if exists (select from public.members m where m.brokerage_id = to_brokerage and m.user_id = invited and m.status = 'active') then
      perform app.refuse('already_member', 'This person is a member already.');
    end if;
    perform app.refuse('already_invited', waits);
  end if;
  delete from vault.invitations i where i.user_id = invited and i.brokerage_id = to_brokerage and i.used_at is null;
  insert into vault.invitations (digest, user_id, brokerage_id, mailed) values (token, invited, to_brokerage, invite_member.mailed);
  perform app.audit('member.invite', known_as::text, 'done', to_brokerage, null, address, request_id,
    jsonb_build_object('role', as_role));
  return known_as;
end
$function$;
GRANT EXECUTE ON FUNCTION app.invite_member(uuid,text,text,text,bytea,boolean,inet,text,uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.invite_to_deal(deal_id uuid, email text, name text, role text, advises uuid, again uuid DEFAULT NULL::uuid, mailed boolean DEFAULT true)
 RETURNS TABLE(participant_id uuid)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  sandbox uuid;
  typed text := lower(invite_to_deal.email);
  address text := lower(invite_to_deal.email);
  invited uuid;
  elsewhere record;
  other uuid;
  part record;
  waits constant text := 'An invitation to this address is waiting already, in another role or to advise somebody else: withdraw it on the deal’s page first, then invite them again.';
begin
  select b.id into sandbox from public.deals d join public.brokerages b on b.id = d.organization_id and b.sandbox_of is not null where d.id = invite_to_deal.deal_id;
  if not exists (select from public.deals d where d.id = invite_to_deal.deal_id
    and (d.id = any (app.deals_acting_as('broker')) or d.organization_id = any (app.brokerages_as('admin'))))
  then
    raise insufficient_privilege using message = 'not a broker of this deal';
  end if;
  -- Whoever once took part is invited themselves, whatever address they have now.
  select p.user_id into invited from public.participants p
    where p.id = invite_to_deal.again and p.deal_id = invite_to_deal.deal_id and p.joined_at is not null;
  if found then
    select u.email into address from public.users u where u.id = invited and u.erased_at is null for share;
    if not found then
      perform app.refuse('address_not_taken', 'No e-mail can be sent to this address.');
    end if;
    if invite_to_deal.mailed then
      typed := address;
    end if;
  else
    -- What an erasure left in place of an address (app.account_at): in sandboxes another address would be made of it.
    if address like '%@erased.invalid' then
      perform app.refuse('address_not_taken', 'No e-mail can be sent to this address.');
    end if;
    if sandbox is not null then
      address := coalesce((select u.email from public.users u where u.email = address and u.sandbox_id = sandbox), app.sandbox_address(sandbox, md5(address)));
    elsif address like '%.sandbox.invalid' then
      perform app.refuse('address_not_taken', 'No e-mail can be sent to this address.');
    end if;
    invited := app.account_at(address, invite_to_deal.name, sandbox);
  end if;
  -- What the account was invited to at another address, and has not answered, is left to whoever has that address: one entry would otherwise turn into the other.
  select p.id, p.invited_email, p.invited_name into elsewhere from public.participants p
    where p.deal_id = invite_to_deal.deal_id and p.user_id = invited and sandbox is null
      and p.joined_at is null and p.invited_email <> typed and p.invited_email not like '%@erased.invalid';
  if found then
    other := app.account_at(elsewhere.invited_email, elsewhere.invited_name);
  end if;
  -- Who leaves the brokerage meanwhile is waited for, or waits and leaves this deal too. app.link_deal_invitation asks again who may invite.
  perform from public.members m
    where m.brokerage_id = (select d.organization_id from public.deals d where d.id = invite_to_deal.deal_id) and m.user_id in (app.user_id(), invited)
    order by m.user_id for share;
  -- Before the deal, as whoever answers an invitation takes it; with whom they advise, who may be leaving.
  perform from public.participants p
    where p.deal_id = invite_to_deal.deal_id
      and (p.user_id = invited or p.id = invite_to_deal.advises or (p.joined_at is null and p.invited_email = typed))
    order by p.advises is not null, p.id for no key update;
  if sandbox is null and app.key_id() is not null
    and (invite_to_deal.role = 'broker'
      or exists (select from public.participants p where p.id = invite_to_deal.advises and p.deal_id = invite_to_deal.deal_id and p.role = 'broker'))
    and not exists (
      select from public.deals d join public.members m on m.brokerage_id = d.organization_id and m.status = 'active'
      where d.id = invite_to_deal.deal_id and m.user_id = invited)
  then
    perform app.refuse('not_a_member',
      'A key invites brokers and their advisors from among the members of the brokerage: anybody else is invited on the page of the deal.');
  end if;
  update public.participants p set user_id = other
    where p.id = elsewhere.id and p.user_id = invited and p.joined_at is null
      and not exists (select from public.participants o where o.deal_id = invite_to_deal.deal_id and o.user_id = other);
  if found then
    update vault.invitations i set user_id = other where i.participant_id = elsewhere.id and i.used_at is null;
  end if;
  update public.participants p set user_id = invited
    where p.id = (select o.id from public.participants o
        where o.deal_id = invite_to_deal.deal_id and o.joined_at is null and o.invited_email = typed order by o.id limit 1)
      and p.user_id <> invited and p.joined_at is null
      and not exists (select from public.participants o where o.deal_id = invite_to_deal.deal_id and o.user_id = invited);
  select p.id, p.role, p.status, p.advises, p.invited_email into part
    from public.participants p where p.deal_id = invite_to_deal.deal_id and p.user_id = invited;
  if part.status = 'active' then
    perform app.refuse('already_participant', 'This person already takes part in the deal.');
  end if;
  -- What waits at another address is not told: that both lead to one account would be learned by it.
  if part.status = 'invited' and part.invited_email = typed
    and (part.role, part.advises) is distinct from (invite_to_deal.role, invite_to_deal.advises)
    and exists (select from vault.invitations i where i.participant_id = part.id and i.used_at is null and i.expires_at > app.now())
  then
    perform app.refuse('already_invited', waits);
  end if;
  if part.role <> invite_to_deal.role then
    perform from public.participants p where p.advises = part.id order by p.id for no key update;
  end if;
  return query
    insert into public.participants as p (deal_id, user_id, role, advises, invited_name, invited_email)
    values (invite_to_deal.deal_id, invited, invite_to_deal.role, invite_to_deal.advises, invite_to_deal.name,
      typed)
    on conflict (deal_id, user_id) do update
      set status = 'invited', role = excluded.role, advises = excluded.advises, invited_name = excluded.invited_name,
        invited_email = excluded.invited_email
      where p.status <> 'active'
        and (p.id = part.id or (p.role, p.advises) is not distinct from (excluded.role, excluded.advises))
    returning p.id;
  if not found then
    if exists (select from public.participants p
      where p.deal_id = invite_to_deal.deal_id and p.user_id = invited and p.status = 'active')
    then
      perform app.refuse('already_participant', 'This person already takes part in the deal.');
    end if;
    -- Somebody else has just invited them.
    perform app.refuse('already_invited', waits);
  end if;
end
$function$;
GRANT EXECUTE ON FUNCTION app.invite_to_deal(uuid,text,text,text,uuid,uuid,boolean) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.is_administered(deal uuid, administered uuid[])
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN (EXISTS (SELECT FROM public.deals d WHERE ((d.id = is_administered.deal) AND (d.organization_id = ANY (is_administered.administered)))));

CREATE OR REPLACE FUNCTION app.is_buyer_still(participant uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN (EXISTS (SELECT FROM public.participants p WHERE ((p.id = is_buyer_still.participant) AND (p.role = 'buyer'::text) AND (p.status <> 'removed'::text))));
GRANT EXECUTE ON FUNCTION app.is_buyer_still(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.is_contact(id uuid, type text, display_name text, email text, phone text, archived_at timestamp with time zone, external_id text, merged_into uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE
AS $function$
begin
  if (type in ('person', 'company')
    and length(display_name) <= 65536 and display_name ~ '\S'
    and length(phone) <= 65536
    and app.is_email_address(email)
    and external_id ~ '^[\x21-\x7e]{1,255}$' and external_id not in ('.', '..')
    and (merged_into is null or archived_at is not null and merged_into <> id)) is not false
  then
    return true;
  end if;
  -- As the name of a check for each column did, this says which it is.
  raise check_violation using message = 'A contact violates its check.', schema = 'public', table = 'contacts', column = case
    when type not in ('person', 'company') then 'type'
    when not (length(display_name) <= 65536 and display_name ~ '\S') then 'display_name'
    when length(phone) > 65536 then 'phone'
    when not app.is_email_address(email) then 'email'
    when not (external_id ~ '^[\x21-\x7e]{1,255}$' and external_id not in ('.', '..')) then 'external_id'
    else 'merged_into' end;
end
$function$;
GRANT EXECUTE ON FUNCTION app.is_contact(uuid,text,text,text,text,timestamp with time zone,text,uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.is_deadline_near(of_kind text, of_table text, record uuid, deal uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  found jsonb;
begin
  case of_table
    when 'ndas' then select to_jsonb(n) into found from public.ndas n where n.id = record;
    when 'offers' then select to_jsonb(o) into found from public.offers o where o.id = record;
    when 'exclusivities' then select to_jsonb(x) into found from public.exclusivities x where x.id = record;
    when 'closing_conditions' then select to_jsonb(c) into found from public.closing_conditions c where c.id = record;
  end case;
  return app.actual_state(deal) not in ('closed', 'withdrawn') and exists (
    select from app.deadlines_of(of_table, found) d
    where d.kind = of_kind and d.remind_at <= app.now() and (of_kind = 'condition_overdue' or d.due_at > app.now()));
end
$function$;

CREATE OR REPLACE FUNCTION app.is_document_held(deal uuid, uploaded_by uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN (EXISTS (SELECT FROM (vault.legal_holds h JOIN public.deals l ON ((l.id = is_document_held.deal))) WHERE (((h.kind = 'deal'::text) AND (h.subject_id = l.id)) OR ((h.kind = 'brokerage'::text) AND (h.subject_id = l.organization_id)) OR ((h.kind = 'person'::text) AND (h.subject_id = is_document_held.uploaded_by)))));

CREATE OR REPLACE FUNCTION app.is_email_address(email text)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
 SET search_path TO ''
AS $function$
declare
  parts text[];
  host text;
  byte constant text := '(25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])';
  ipv4 text;
  address text;
begin
  if length(email) <= 64 and email ~ '^[A-Za-z0-9_+-]+(\.[A-Za-z0-9_+-]+)*@([A-Za-z0-9]+(-+[A-Za-z0-9]+)*\.)+[A-Za-z0-9]+$' then
    -- Not even a label of the host is too long.
    return true;
  end if;
  parts := regexp_match(email, '^(.*)@([^@]*)$');
  host := parts[2];
  if length(email) > 254 or email ~ '[^ -~]' or parts is null or length(parts[1]) > 64
    or parts[1] !~ '^[A-Za-z0-9!#$%&''*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&''*+/=?^_`{|}~-]+)*$'
      and parts[1] !~ '^"([^"\\]|\\.)*"$'
  then
    return false;
  end if;
  if host ~ '^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$' then
    return true;
  end if;
  ipv4 := byte || '(\.' || byte || '){3}';
  if host ~ ('^\[' || ipv4 || '\]$') then
    return true;
  end if;
  if host !~* '^\[ipv6:.*\]$' then
    return false;
  end if;
  -- An IPv4 address at the end stands for two groups.
  address := regexp_replace(substr(host, 7, length(host) - 7), ':' || ipv4 || '$', ':0:0');
  return address ~ '^[0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4}){7}$'
    or address ~ '^([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4}){0,5})?::([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4}){0,5})?$'
      and cardinality(array_remove(regexp_split_to_array(address, ':+'), '')) <= 6;
end
$function$;
GRANT EXECUTE ON FUNCTION app.is_email_address(text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.is_key_in_force(key uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
begin
  return app.scopes_in_force(key) is not null;
end
$function$;
GRANT EXECUTE ON FUNCTION app.is_key_in_force(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.is_known_device(person uuid, device bytea)
 RETURNS boolean
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select exists (select from vault.known_devices k
    where k.digest = device and k.user_id = person and k.used_at > app.now() - interval '180 days')
$function$;

CREATE OR REPLACE FUNCTION app.is_live_link(link bytea)
 RETURNS boolean
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select exists (
      select from vault.invitations i
      left join public.members m on m.brokerage_id = i.brokerage_id and m.user_id = i.user_id
      left join public.participants p on p.id = i.participant_id
      where i.digest = link and i.used_at is null and i.expires_at > app.now() and coalesce(m.status, p.status) = 'invited')
    or exists (select from vault.password_resets r join public.users u on u.id = r.user_id
      where r.digest = link and r.expires_at > app.now() and u.suspended_at is null)
    or exists (select from vault.address_changes a join public.users u on u.id = a.user_id
      where a.digest = link and a.expires_at > app.now() and u.suspended_at is null)
$function$;

CREATE OR REPLACE FUNCTION app.is_needed(mail vault.outbox)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if mail.link is not null and not app.is_live_link(mail.link) then
    return false;
  end if;
  if mail.kind not in ('brokerage_deletion', 'deletion_of_deals', 'webhook_off') then
    return true;
  end if;
  if mail.kind = 'deletion_of_deals' then
    -- Others than its admins: as long as they are with the brokerage or on one of its deals.
    if not exists (select from public.users u where u.id = mail.recipient_id and u.suspended_at is null and (
      exists (select from public.members m where m.brokerage_id = mail.brokerage_id and m.user_id = u.id and m.status = 'active')
      or exists (select from public.participants p join public.deals d on d.id = p.deal_id
        where p.user_id = u.id and p.status = 'active' and d.organization_id = mail.brokerage_id)))
    then
      return false;
    end if;
  elsif not exists (select from public.members m join public.users u on u.id = m.user_id
    where m.brokerage_id = mail.brokerage_id and m.user_id = mail.recipient_id and m.role = 'admin' and m.status = 'active' and u.suspended_at is null)
  then
    return false;
  end if;
  if mail.kind <> 'webhook_off' then
    return case when (mail.facts ->> 'cancelled')::boolean
      then not exists (select from vault.brokerage_deletions d where d.brokerage_id = mail.brokerage_id)
      else exists (select from vault.brokerage_deletions d
        where d.brokerage_id = mail.brokerage_id and d.due_at = (mail.facts ->> 'due_at')::timestamptz) end;
  end if;
  -- Mails of the release before do not name the webhook. One that was turned off again since has a mail of its own.
  return mail.facts ->> 'webhook' is null or exists (select from public.webhook_endpoints e
    where e.id = (mail.facts ->> 'webhook')::uuid and e.state = 'off' and e.off_reason = 'failing' and e.off_since <= mail.created_at);
end
$function$;

CREATE OR REPLACE FUNCTION app.is_offer_payload(payload jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO ''
AS $function$
  select jsonb_typeof(payload) = 'object'
    and coalesce(payload ->> 'currency' ~ '^[A-Z]{3}$' and jsonb_typeof(payload -> 'currency') = 'string', true)
    and not exists (
      select from jsonb_each(payload) e
      where case
        when e.key in ('purchase_price', 'cash_at_close', 'seller_note', 'earnout', 'rollover_equity')
          then not (jsonb_typeof(e.value) in ('string', 'null')
            and coalesce(e.value #>> '{}' ~ '^[0-9]{1,16}(\.[0-9]{1,4})?$', true))
        when e.key = 'financing_contingency' then jsonb_typeof(e.value) not in ('boolean', 'null')
        when e.key in ('target_close_date', 'expires_at', 'terms') then jsonb_typeof(e.value) not in ('string', 'null')
        else false
      end)
$function$;
GRANT EXECUTE ON FUNCTION app.is_offer_payload(jsonb) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.is_overdue(status text, deadline date)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return coalesce(status in ('open', 'in_progress') and app.end_of(deadline) <= app.now(), false);
end
$function$;
GRANT EXECUTE ON FUNCTION app.is_overdue(text,date) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.is_presented(digest bytea, presented bytea)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
declare
  wanted constant bytea := substring(digest for 16);
  low int := 0;
  high int := length(presented) / 16;
  middle int;
  found bytea;
begin
  while low < high loop
    middle := (low + high) / 2;
    found := substring(presented from middle * 16 + 1 for 16);
    if found = wanted then
      return true;
    elsif found < wanted then
      low := middle + 1;
    else
      high := middle;
    end if;
  end loop;
  return false;
end
$function$;

CREATE OR REPLACE FUNCTION app.is_refreshable(client_id uuid, presented bytea)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (select from vault.refresh_tokens t join vault.token_families f on f.id = t.family_id
    where t.digest = presented and f.client_id = is_refreshable.client_id and f.revoked_at is null);
end
$function$;
GRANT EXECUTE ON FUNCTION app.is_refreshable(uuid,bytea) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.is_sandbox(brokerage uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN (EXISTS (SELECT FROM public.brokerages b WHERE ((b.id = is_sandbox.brokerage) AND (b.sandbox_of IS NOT NULL))));

CREATE OR REPLACE FUNCTION app.is_set_up_link(token bytea)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (select from vault.set_up_links l where l.digest = token and l.expires_at > app.now())
    and not exists (select from public.brokerages);
end
$function$;
GRANT EXECUTE ON FUNCTION app.is_set_up_link(bytea) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.is_set_up_open()
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return not exists (select from public.brokerages);
end
$function$;
GRANT EXECUTE ON FUNCTION app.is_set_up_open() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.is_store_settled()
 RETURNS boolean
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select not exists (select from vault.document_store s where s.marked_at > app.now() - interval '2 days')
$function$;

CREATE OR REPLACE FUNCTION app.is_time_zone(zone text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE PARALLEL SAFE
 SET search_path TO ''
AS $function$
begin
  if zone !~ '^[A-Z][A-Za-z_-]*(/[A-Z][A-Za-z_-]*)+$' then
    return zone = 'UTC' or exists (select from pg_catalog.pg_timezone_names z where z.name = zone);
  end if;
  perform pg_catalog.timezone(zone, timestamptz 'epoch');
  return true;
exception
  when invalid_parameter_value then return false;
end $function$;

CREATE OR REPLACE FUNCTION app.is_unread(deal_id uuid, participant_id uuid, distributed_at timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return participant_id = any (app.principals()) and deal_id = any (app.deals_as('buyer')) and not exists (
    select from public.answer_readings r
    where r.deal_id = is_unread.deal_id and r.user_id = app.user_id() and r.read_until >= coalesce(is_unread.distributed_at, '-infinity'));
end
$function$;
GRANT EXECUTE ON FUNCTION app.is_unread(uuid,uuid,timestamp with time zone) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.is_unused(account uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (select from public.users u
      where u.id = account and u.suspended_at is null and u.erased_at is null and u.sandbox_id is null)
    and not exists (select from vault.passwords w where w.user_id = account)
    and not exists (select from vault.passkeys k where k.user_id = account)
    and not exists (select from vault.sessions s where s.user_id = account)
    and not exists (select from public.members m where m.user_id = account and (m.joined_at is not null or m.status = 'active'))
    and not exists (select from public.participants p where p.user_id = account and (p.joined_at is not null or p.status = 'active'))
    and not exists (select from app.hold_on_person(account));
end
$function$;

CREATE OR REPLACE FUNCTION app.is_wider(one text, than text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (array_position('{selected_buyer_only,nda_gated,public}'::text[], one) > array_position('{selected_buyer_only,nda_gated,public}'::text[], than));

CREATE OR REPLACE FUNCTION app.is_without_broker(deal_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (select from public.deals d
    where d.id = is_without_broker.deal_id and d.organization_id = any (app.brokerages_as('admin')) and d.state not in ('closed', 'withdrawn')
      and not exists (select from public.participants p
        join public.members m on m.brokerage_id = d.organization_id and m.user_id = p.user_id and m.status = 'active'
        join public.users u on u.id = p.user_id and u.suspended_at is null
        where p.deal_id = d.id and p.role = 'broker' and p.status = 'active'));
end
$function$;
GRANT EXECUTE ON FUNCTION app.is_without_broker(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.issue_api_key(brokerage_id uuid, issued_by uuid, name text, environment text, scopes text[], ceiling integer, expires_at timestamp with time zone, digest bytea, last_four text)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  made uuid;
begin
  perform from public.brokerages b where b.id = issue_api_key.brokerage_id for no key update;
  if 200 <= (select count(*) from public.api_keys k
    where k.brokerage_id = issue_api_key.brokerage_id and k.revoked_at is null and (k.expires_at is null or k.expires_at > app.now()))
  then
    perform app.refuse('too_many_api_keys', 'The brokerage has 200 API keys, which is the limit: revoke one that is no longer used.');
  end if;
  insert into public.api_keys (brokerage_id, name, environment, scopes, ceiling, expires_at, last_four, created_by)
  values (issue_api_key.brokerage_id, issue_api_key.name, issue_api_key.environment, issue_api_key.scopes,
    issue_api_key.ceiling, issue_api_key.expires_at, issue_api_key.last_four, issue_api_key.issued_by)
  returning id into made;
  insert into vault.api_key_digests (digest, key_id, issued_by)
  values (issue_api_key.digest, made, issue_api_key.issued_by);
  return made;
end
$function$;

CREATE OR REPLACE FUNCTION app.issue_tokens(family_id uuid, scopes text[], access_token bytea, refresh_token bytea)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  insert into vault.access_tokens (digest, family_id, scopes, expires_at)
    select access_token, f.id, issue_tokens.scopes, least(app.now() + interval '3600 seconds', f.ends_at)
    from vault.token_families f where f.id = issue_tokens.family_id;
  insert into vault.refresh_tokens (digest, family_id, expires_at)
    values (refresh_token, issue_tokens.family_id, app.now() + interval '30 days');
end
$function$;

CREATE OR REPLACE FUNCTION app.issuer_of(presented bytea)
 RETURNS uuid
 LANGUAGE sql
 STABLE
RETURN (SELECT CASE k.environment WHEN 'live'::text THEN d.issued_by ELSE (SELECT app.sandbox_id(app.brokerage_of_key(k.id), 'broker'::text) AS sandbox_id FROM public.members m WHERE ((m.brokerage_id = k.brokerage_id) AND (m.user_id = d.issued_by) AND (m.status = 'active'::text) AND (m.role = ANY (ARRAY['admin'::text, 'broker'::text])))) END AS sandbox_id FROM (vault.api_key_digests d JOIN public.api_keys k ON ((k.id = d.key_id))) WHERE ((d.digest = issuer_of.presented) AND (d.key_id = app.key_id())));

CREATE OR REPLACE FUNCTION app.issuers_in_force(key uuid)
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return array(
    select distinct d.issued_by from public.api_keys k
    join vault.api_key_digests d on d.key_id = k.id and (d.valid_until is null or d.valid_until > app.now())
    join public.users u on u.id = d.issued_by and u.suspended_at is null
    join public.members m on m.brokerage_id = k.brokerage_id and m.user_id = d.issued_by and m.status = 'active' and m.role = 'admin'
    where k.id = issuers_in_force.key
    order by 1);
end
$function$;

CREATE OR REPLACE FUNCTION app.job_status(of_brokerage uuid)
 RETURNS TABLE(job text, last_run_at timestamp with time zone, last_success_at timestamp with time zone, last_failure_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return;
  end if;
  return query select j.job, j.last_run_at, j.last_success_at, j.last_failure_at from app.job_runs j order by j.job;
end
$function$;
GRANT EXECUTE ON FUNCTION app.job_status(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.keep_an_admin()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform from public.brokerages b where b.id = old.brokerage_id for no key update;
  if not exists (
    select from public.members m join public.users u on u.id = m.user_id and u.suspended_at is null
    where m.brokerage_id = old.brokerage_id and m.role = 'admin' and m.status = 'active')
  then
    perform app.refuse('last_admin', 'A brokerage keeps at least one admin who is not suspended: make somebody else admin first.');
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.keep_answers_of_people()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_op <> 'DELETE' and new.status = 'active' then
    -- Whoever distributes an answer meanwhile is waited for, or waits and finds the part.
    perform from public.deals d where d.id = new.deal_id for no key update;
  end if;
  if tg_op <> 'INSERT' then
    delete from vault.answers_of_people o where o.user_id = old.user_id and o.deal_id = old.deal_id;
  end if;
  if tg_op <> 'DELETE' and new.status = 'active' then
    insert into vault.answers_of_people (user_id, deal_id, at, first_at)
      select p.user_id, p.deal_id, p.at, p.first_at from vault.answers_of_parts p where p.user_id = new.user_id and p.deal_id = new.deal_id;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.keep_audit_months()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET lock_timeout TO '1s'
AS $function$
declare
  month constant timestamp := date_trunc('month', app.now() at time zone 'UTC');
  keep int;
  next timestamptz;
  following timestamptz;
  part text;
  dropped int := 0;
begin
  -- One node at a time.
  select r.months into keep from vault.audit_retention r for update skip locked;
  if not found then
    return 0;
  end if;
  select max(m.until) into next from vault.audit_months m;
  if next < (month + interval '4 months') at time zone 'UTC' then
    alter table public.audit_records detach partition vault.audit_records_later;
    select (date_trunc('month', max(l.at) at time zone 'UTC') + interval '1 month') at time zone 'UTC' into following
      from vault.audit_records_later l;
    if following is null then
      drop table vault.audit_records_later;
    else
      -- Records came in before their month was there: what holds them becomes the part of all the months that they are of.
      part := 'audit_records_' || to_char(next at time zone 'UTC', 'YYYY_MM');
      execute format('alter table vault.audit_records_later rename to %I', part);
      execute format('alter table public.audit_records attach partition vault.%I for values from (%L) to (%L)', part, next, following);
      insert into vault.audit_months values (part, next, following);
      next := following;
    end if;
    -- At most two years at once, for a clock that was wrong.
    for count in 1..24 loop
      exit when next >= (month + interval '4 months') at time zone 'UTC';
      following := (next at time zone 'UTC' + interval '1 month') at time zone 'UTC';
      part := 'audit_records_' || to_char(next at time zone 'UTC', 'YYYY_MM');
      execute format('create table vault.%I partition of public.audit_records for values from (%L) to (%L)', part, next, following);
      perform app.protect(format('vault.%I', part)::regclass);
      insert into vault.audit_months values (part, next, following);
      next := following;
    end loop;
    execute format('create table vault.audit_records_later partition of public.audit_records for values from (%L) to (maxvalue)', next);
    perform app.protect('vault.audit_records_later');
  end if;
  for part in select m.name from vault.audit_months m
    where m.until <= (month - make_interval(months => keep)) at time zone 'UTC' order by m.until
  loop
    execute format('alter table public.audit_records detach partition vault.%I', part);
    execute format('drop table vault.%I', part);
    delete from vault.audit_months m where m.name = part;
    dropped := dropped + 1;
  end loop;
  return dropped;
end
$function$;
GRANT EXECUTE ON FUNCTION app.keep_audit_months() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.keep_challenge(token bytea, session bytea)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  person uuid;
begin
  if session is not null then
    select r.user_id into person from app.recent_session_with_factor(session) r;
    if not found then
      return false;
    end if;
  end if;
  delete from vault.challenges c where c.digest in (
    select old.digest from vault.challenges old where old.expires_at <= app.now() limit 100 for update skip locked);
  insert into vault.challenges (digest, user_id) values (token, person);
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.keep_challenge(bytea,bytea) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.keep_closed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  changed jsonb := to_jsonb(case when tg_op = 'DELETE' then old else new end);
begin
  perform app.refuse_if_closed(case tg_table_name
    when 'deals' then (changed ->> 'id')::uuid
    when 'finding_comments' then (select f.deal_id from public.findings f where f.id = (changed ->> 'finding_id')::uuid)
    else (changed ->> 'deal_id')::uuid
  end);
  return case when tg_op = 'DELETE' then old else new end;
end
$function$;

CREATE OR REPLACE FUNCTION app.keep_closed_rows()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_op = 'UPDATE' then
    perform app.refuse_if_closed(c.deal_id) from (select deal_id from changed union select deal_id from before) c;
  else
    perform app.refuse_if_closed(c.deal_id) from (select distinct deal_id from changed) c;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.keep_deals_of_people()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  people uuid[];
begin
  if tg_op <> 'DELETE' and new.status = 'active' then
    -- Whoever changes the deal meanwhile is waited for, or waits and finds the row.
    perform from public.deals d where d.id = new.deal_id for no key update;
    -- The deletion of its brokerage waits for this, or has begun, and there is no row to write.
    perform from public.brokerages b where b.id = (select d.organization_id from public.deals d where d.id = new.deal_id) for key share;
  elsif tg_op <> 'INSERT' and old.status = 'active' then
    -- Whoever writes the rows of those whom they advise, or of their advisors, meanwhile is waited for, or waits and finds that they have left.
    perform from public.deals d where d.id = old.deal_id for share;
  end if;
  if tg_op <> 'INSERT' then
    delete from vault.deals_of_people o where o.user_id = old.user_id and o.deal_id = old.deal_id;
  end if;
  if tg_op <> 'DELETE' then
    people := array[new.user_id];
    if tg_op = 'UPDATE' and new.advises is null then
      people := people || array(select a.user_id from public.participants a where a.advises = new.id);
    end if;
    delete from vault.deals_of_people o where o.user_id = any (people) and o.deal_id = new.deal_id;
    insert into vault.deals_of_people select p.* from vault.deals_of_parts p where p.user_id = any (people) and p.deal_id = new.deal_id;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.keep_device(session bytea, earlier bytea, device bytea, continues boolean DEFAULT false)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  person uuid;
begin
  perform from public.users u where u.id = (select l.user_id from vault.live_sessions l where l.digest = session) for share;
  select l.user_id into person from vault.live_sessions l where l.digest = session;
  if not found then
    return;
  end if;
  if not continues and not exists (select from vault.known_devices k where k.digest = earlier and k.user_id = person)
    and (exists (select from vault.known_devices k where k.user_id = person)
      or exists (select from vault.sessions s where s.user_id = person and s.digest <> session))
  then
    perform app.queue_event('new_device', null, null, null, person, person);
  end if;
  update vault.known_devices k set digest = device where k.digest = earlier;
  insert into vault.known_devices (digest, user_id) values (device, person)
    on conflict (digest, user_id) do update set used_at = app.now(), code_failures = 0, code_failed_at = null;
  delete from vault.known_devices k where k.user_id = person and k.digest in (
    select old.digest from vault.known_devices old where old.user_id = person
    order by old.used_at desc, old.digest offset 20);
end
$function$;
GRANT EXECUTE ON FUNCTION app.keep_device(bytea,bytea,bytea,boolean) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.keep_exclusivity()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if old.ended_at is not null then
    perform app.refuse('exclusivity_over', 'This exclusivity is over: grant a new one.');
  end if;
  if new.ended_at is not null then
    new.ended_at := least(app.now(), old.expires_at);
  elsif new.expires_at <> old.expires_at and app.user_id() is not null then
    if new.expires_at <= app.now() then
      perform app.refuse('expires_in_the_past', 'The exclusivity must end in the future: release it to end it now.');
    end if;
    if old.expires_at <= app.now() and app.actual_state(old.deal_id) = 'exclusivity' then
      perform app.refuse('exclusivity_over', 'This exclusivity is over: grant a new one.');
    end if;
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.keep_in_sandbox()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  named constant jsonb := to_jsonb(new);
  brokerage constant uuid := coalesce(named ->> 'brokerage_id', (select d.organization_id::text from public.deals d where d.id = (named ->> 'deal_id')::uuid))::uuid;
begin
  if (select u.sandbox_id from public.users u where u.id = new.user_id) is distinct from (select b.id from public.brokerages b where b.id = brokerage and b.sandbox_of is not null) then
    perform app.refuse('address_not_taken', 'No e-mail can be sent to this address.');
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.keep_nda()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if new.status = 'active' and old.status <> 'active' and new.signed_at is null then
    perform app.refuse('nda_unsigned', 'An NDA becomes active by being signed by the buyer.');
  end if;
  if new.status = 'revoked' and old.status <> 'revoked' then
    new.revoked_at := app.now();
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.keep_ndas_of_people()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_op <> 'DELETE' and new.status = 'active' then
    -- Whoever signs meanwhile is waited for, or waits and finds the part.
    perform from public.deals d where d.id = new.deal_id for no key update;
  end if;
  if tg_op <> 'INSERT' then
    delete from vault.ndas_of_people o where o.user_id = old.user_id and o.deal_id = old.deal_id;
  end if;
  if tg_op <> 'DELETE' and new.status = 'active' then
    insert into vault.ndas_of_people
      select p.* from vault.ndas_of_parts p where p.user_id = new.user_id and p.deal_id = new.deal_id and p.participant_id = coalesce(new.advises, new.id);
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.keep_reminders()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_op <> 'INSERT' then
    delete from vault.reminders r where r.subject = tg_table_name and r.subject_id = old.id;
  end if;
  if tg_op <> 'DELETE' then
    insert into vault.reminders (subject, subject_id, deal_id, kind, remind_at, due_at)
      select tg_table_name, new.id, new.deal_id, r.kind, r.remind_at, r.due_at
      from app.reminders_of(tg_table_name, to_jsonb(new)) r;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.keep_shared_client()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform app.refuse('client_shared', 'The client is shared with another brokerage. Whoever added it has to stop sharing it there first.');
end
$function$;

CREATE OR REPLACE FUNCTION app.keep_tenant()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  raise exception 'A deal stays with its brokerage.' using errcode = 'restrict_violation';
end
$function$;

CREATE OR REPLACE FUNCTION app.key_brokerage(scope text)
 RETURNS uuid
 LANGUAGE sql
 STABLE
RETURN CASE WHEN (scope = ANY (string_to_array(app.identity_part(5), ' '::text))) THEN (app.identity_part(4))::uuid ELSE NULL::uuid END;
GRANT EXECUTE ON FUNCTION app.key_brokerage(text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.key_id()
 RETURNS uuid
 LANGUAGE sql
 STABLE
RETURN (app.identity_part(3))::uuid;
GRANT EXECUTE ON FUNCTION app.key_id() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.key_reach(key uuid)
 RETURNS TABLE(issued_by uuid, scopes_in_force text[])
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return query
    select (select d.issued_by from vault.api_key_digests d where d.key_id = k.id order by d.issued_at desc, d.valid_until desc, d.digest limit 1),
      app.scopes_in_force(k.id)
    from public.api_keys k
    where k.id = key and k.brokerage_id = any (app.brokerages_as('admin')) and app.client_id() is null;
end
$function$;
GRANT EXECUTE ON FUNCTION app.key_reach(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.key_to_manage(key_id uuid)
 RETURNS public.api_keys
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  key public.api_keys;
begin
  if app.client_id() is null then
    select k.* into key from public.api_keys k
    where k.id = key_to_manage.key_id and k.brokerage_id = any (app.brokerages_as('admin')) for no key update;
  end if;
  if key.id is null then
    perform app.refuse('api_key_not_found', 'There is no such API key in a brokerage of which you are an admin.');
  end if;
  return key;
end
$function$;

CREATE OR REPLACE FUNCTION app.keys_for_deal(deal uuid)
 RETURNS TABLE(id uuid, name text, environment text, scopes text[], created_by uuid, created_at timestamp with time zone, expires_at timestamp with time zone, last_used_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  run constant uuid[] := app.deals_acting_as('broker');
  administered constant uuid[] := app.brokerages_as('admin');
begin
  return query
    select k.id, k.name, k.environment, reaching.scopes, k.created_by, k.created_at, k.expires_at, k.last_used_at
    from public.deals d
    join public.api_keys k on k.brokerage_id = d.organization_id
    cross join lateral (select array(select s from unnest(app.scopes_in_force(k.id)) s where s = any (app.deal_scopes())) as scopes) reaching
    where d.id = deal and (d.id = any (run) or d.organization_id = any (administered)) and k.environment = 'live'
      and k.revoked_at is null and (k.expires_at is null or k.expires_at > app.now()) and reaching.scopes <> '{}'
    order by k.created_at desc, k.id desc
    limit 100;
end
$function$;
GRANT EXECUTE ON FUNCTION app.keys_for_deal(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.keys_held_by(person uuid, in_brokerage uuid)
 RETURNS SETOF public.api_keys
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
    select k.* from public.api_keys k
    cross join lateral (
      select d.issued_by, d.valid_until from vault.api_key_digests d where d.key_id = k.id order by d.issued_at desc, d.valid_until desc, d.digest limit 1) present
    where k.id in (select d.key_id from vault.api_key_digests d where d.issued_by = person)
      and (in_brokerage is null or k.brokerage_id = in_brokerage) and k.revoked_at is null and (k.expires_at is null or k.expires_at > app.now())
      and present.issued_by = person and (present.valid_until is null or present.valid_until > app.now());
end
$function$;

CREATE OR REPLACE FUNCTION app.keys_of_secrets()
 RETURNS text[]
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select coalesce(array_agg(distinct split_part(s.secret, '.', 2)), '{}') from (
    select t.secret from vault.totp t
    union all select case when substring(c.secret from 1 for 4) = '\x646b312e' then convert_from(c.secret, 'UTF8') end from vault.cursor_secret c
    union all select o.secret from vault.outbox o where o.sent_at is null and o.given_up_at is null
    union all select w.secret from vault.webhook_secrets w
    union all select split_part(i.answer, '"', 4) from vault.idempotency_keys i
      where i.answer like '{"sealed":%' and i.made_at > app.now() - interval '24 hours'
  ) s
  where s.secret like 'dk1.%'
$function$;
GRANT EXECUTE ON FUNCTION app.keys_of_secrets() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.known_contacts(brokerage uuid, given jsonb)
 RETURNS TABLE(place integer, id uuid, archived boolean)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_nestloop TO 'off'
AS $function$
#variable_conflict use_column
begin
  if not brokerage = any (app.brokerages_for('contacts:read')) then
    return;
  end if;
  return query
    with asked as materialized (
      select g.place, g.type, vault.name_in(g.display_name) as name, app.folded("left"(g.display_name, 100)) as key, lower(g.email) as email, vault.number_in(g.phone) as digits
      from jsonb_to_recordset(given) g (place integer, type text, display_name text, email text, phone text)
    ), namesakes as materialized (
      select distinct on (n.type, n.name, k.digits) n.type, n.name, k.digits, k.id, k.archived
      from (select distinct a.type, a.name, a.key from asked a where a.email is null) n
      cross join lateral (
        select c.id, false as archived, vault.number_in(c.phone) as digits from public.contacts c
          where c.brokerage_id = brokerage and c.archived_at is null
            and app.folded("left"(c.display_name, 100)) = n.key and vault.name_in(c.display_name) = n.name and c.type = n.type
        union all
        select c.id, true, vault.number_in(c.phone) from public.contacts c
          where c.brokerage_id = brokerage and c.archived_at is not null
            and app.folded("left"(c.display_name, 100)) = n.key and vault.name_in(c.display_name) = n.name and c.type = n.type
        offset 0) k
      order by n.type, n.name, k.digits, k.archived, k.id
    )
    select a.place, k.id, k.archived
    from asked a
    cross join lateral (
      select o.id, o.archived from (
        (select c.id, false as archived from public.contacts c
         where c.brokerage_id = brokerage and c.archived_at is null and c.email is not null and lower(c.email) = a.email
         order by c.brokerage_id, lower(c.email), c.id limit 1)
        union all
        (select c.id, true from public.contacts c
         where c.brokerage_id = brokerage and c.archived_at is not null and c.email is not null and lower(c.email) = a.email
         order by c.brokerage_id, lower(c.email), c.id limit 1)) o
      order by o.archived limit 1) k
    where a.email is not null
    union all
    select a.place, k.id, k.archived from asked a join namesakes k on k.type = a.type and k.name = a.name and k.digits = a.digits where a.email is null;
end
$function$;
GRANT EXECUTE ON FUNCTION app.known_contacts(uuid,jsonb) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.knows_device(given_email text, device bytea)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (select from public.users u where u.email = lower(given_email) and app.is_known_device(u.id, device));
end
$function$;
GRANT EXECUTE ON FUNCTION app.knows_device(text,bytea) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.knows_from_a_deal(person uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  identity constant text := current_setting('dealkeep.identity', true);
  seal constant text := current_setting('dealkeep.seal', true);
  known boolean;
begin
  perform app.widen();
  known := exists (select from public.participants p where p.user_id = person and p.joined_at is not null);
  perform set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', seal, true);
  return known;
end
$function$;
GRANT EXECUTE ON FUNCTION app.knows_from_a_deal(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.last_activity(deals uuid[])
 RETURNS TABLE(deal_id uuid, at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  administered constant uuid[] := app.brokerages_as('admin');
begin
  return query
    with whole as materialized (
      select p.deal_id from app.own_parts(me, barred, narrowed) p where p.role = 'broker' and p.deal_id = any (deals)
      union
      select d.id from public.deals d where administered <> '{}' and d.id = any (deals) and d.organization_id = any (administered))
    select a.deal_id, a.at from vault.deal_activity a where a.deal_id = any (array(select whole.deal_id from whole))
    union all
    select a.deal_id, a.at from vault.own_activity a
    where a.user_id = me and a.deal_id = any (array(select unnest(deals) except select whole.deal_id from whole));
end
$function$;
GRANT EXECUTE ON FUNCTION app.last_activity(uuid[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.last_day_over(at timestamp with time zone)
 RETURNS date
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN ((((at AT TIME ZONE 'UTC'::text) - '12:00:00'::interval))::date - 1);

CREATE OR REPLACE FUNCTION app.last_turn(brokerage uuid, of_rank integer)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
 SET search_path TO ''
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
AS $function$
  select o.turn_at from vault.outbox o
  where o.brokerage_id = brokerage and o.rank = of_rank and o.sent_at is null and o.given_up_at is null
  order by o.turn_at desc limit 1
$function$;

CREATE OR REPLACE FUNCTION app.latest_deals(in_state text, brokerage text, at_most integer)
 RETURNS TABLE(id uuid, title text, state text, organization_id uuid, exclusive_buyer_user_id uuid, exclusivity_granted_at timestamp with time zone, exclusivity_expires_at timestamp with time zone, closed_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone, caller_role text, exclusive_buyer_person text[])
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_nestloop TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  administered constant uuid[] := app.brokerages_as('admin');
  -- A stage that not everybody may know stands beside this state; a state may also be shown because that stage is over.
  states constant text[] := array[in_state, 'under_offer', 'exclusivity'];
  of_brokerage constant uuid := app.brokerage_named(brokerage);
  candidates uuid[];
  begun int := 0;
  of_part int := at_most;
  told int := 0;
  more int;
begin
  candidates := array(
    select c.id from (
      -- Of a buyer's deals in these states only those whose stage they may know, or that are listed again because it is over.
      select o.deal_id as id, o.created_at from vault.deals_of_people o
      where o.user_id = me and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed)
        and (brokerage is null or o.organization_id = of_brokerage)
        and (in_state is null or o.state = in_state or (o.state = any (states) and (o.side <> 'buyer' or o.holder_id = o.principal_id
          or o.organization_id = any (administered) or (in_state = 'listed' and o.stage = 'exclusivity'))))
      union
      select d.id, d.created_at from unnest(administered) b (id) cross join lateral (
        select d.id, d.created_at from public.deals d
        where d.organization_id = b.id and (in_state is null or d.state = any (states)) and (brokerage is null or d.organization_id = of_brokerage)
        order by d.created_at desc, d.id desc limit case when in_state is null then at_most end) d) c
    order by c.created_at desc, c.id desc limit case when in_state is null then at_most end);
  while told < at_most and begun < cardinality(candidates) loop
    return query
      select k.id, k.title, k.state, k.organization_id, k.exclusive_buyer_user_id, k.exclusivity_granted_at, k.exclusivity_expires_at, k.closed_at,
        k.created_at, k.updated_at, k.caller_role,
        case when k.exclusive_buyer_user_id is not null then (
          select array[p.user_id::text, coalesce(p.left_name, (select u.name from public.users u where u.id = p.user_id)), p.role]
          from public.participants p where p.deal_id = k.id and p.user_id = k.exclusive_buyer_user_id and p.joined_at is not null) end
      from app.deals_as_known(me, administered, barred, narrowed, candidates[begun + 1 : begun + of_part]) k
      where in_state is null or k.state = in_state
      order by k.created_at desc, k.id desc limit at_most - told;
    get diagnostics more = row_count;
    told := told + more;
    begun := begun + of_part;
    of_part := of_part * 8;
  end loop;
end
$function$;
GRANT EXECUTE ON FUNCTION app.latest_deals(text,text,integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.leave_waiting_place(participation uuid, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  deal uuid;
begin
  -- One that they see by now is left on its page.
  update public.participants p set status = 'removed'
    where p.id = (select w.participant_id from app.waiting_places() w where w.participant_id = participation) and p.status = 'active'
    returning p.deal_id into deal;
  if not found then
    return false;
  end if;
  perform app.audit('participant.remove', participation::text, 'done', null, deal, address, request_id, '{"left": true}');
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.leave_waiting_place(uuid,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.leave_workspace()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  delete from public.qoe_workspace_members w where w.participant_id = new.id;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.left_by_member(by_brokerage uuid, by_member uuid)
 RETURNS TABLE(outsiders jsonb, outsider_count integer, deal_invitations integer, member_invitations integer)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if (by_brokerage = any (app.brokerages_as('admin')) and app.client_id() is null) is not true then
    return;
  end if;
  return query
    with others as materialized (
      select d.id, d.title, d.created_at, p.id as participant_id, u.name, u.email
      from public.deals d
      join public.participants own on own.deal_id = d.id and own.user_id = by_member and own.role = 'broker' and own.status = 'active'
      join public.participants p on p.deal_id = d.id and p.user_id <> by_member and p.role = 'broker' and p.status = 'active'
      join public.users u on u.id = p.user_id
      where d.organization_id = by_brokerage
        and not exists (select from public.members m where m.brokerage_id = by_brokerage and m.user_id = p.user_id and m.status = 'active'))
    select
      (select coalesce(jsonb_agg(jsonb_build_object('deal_id', o.id, 'title', o.title, 'name', o.name, 'email', o.email)
          order by o.created_at desc, o.id desc, o.participant_id), '[]')
        from (select * from others order by created_at desc, id desc, participant_id limit 100) o),
      (select count(*)::int from others),
      (select count(*)::int from app.deal_invitations_made(by_member, by_brokerage)),
      (select count(*)::int from app.member_invitations_made(by_member, by_brokerage));
end
$function$;
GRANT EXECUTE ON FUNCTION app.left_by_member(uuid,uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.limit_a_day()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  person constant uuid := app.user_id();
begin
  if not app.has_caller() then
    return new;  -- the owner, loading data
  end if;
  -- One after the other, or several at once would all be the last that there is room for.
  if person is null then
    perform from public.deals d where d.id = new.deal_id for no key update;
  else
    perform from public.users u where u.id = person for no key update;
  end if;
  perform app.refuse_if_full_today(coalesce(tg_argv[4], format('public.%I', tg_table_name)), tg_argv[1], tg_argv[2], tg_argv[3], tg_argv[0]::int,
    new.deal_id);
  return new;
end $function$;

CREATE OR REPLACE FUNCTION app.limit_comments()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.user_id() is null then
    return new;  -- the owner, loading data
  end if;
  perform from public.findings f where f.id = new.finding_id for no key update;
  if (select count(*) from public.finding_comments c where c.finding_id = new.finding_id) >= 500 then
    perform app.refuse('finding_full', 'A finding can have at most 500 comments: record another finding.');
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.limit_of_deal()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  there int;
begin
  if not app.has_caller() then
    return new;  -- the owner, loading data
  end if;
  -- As the policies for adding have it, which are asked afterwards. Counting after them would be too late for the lock: app.keep_closed takes a weaker one in between.
  if not new.deal_id = any (case tg_table_name
    when 'closing_conditions' then app.deals_acting_as('broker', 'conditions:write')
    when 'contradiction_answers' then app.deals_acting_as('broker')
    when 'qoe_checklist' then app.qoe_deals(true) end)
  then
    return new;
  end if;
  perform from public.deals d where d.id = new.deal_id for no key update;
  execute format('select count(*) from public.%I where deal_id = $1', tg_table_name) into there using new.deal_id;
  if there >= tg_argv[0]::int then
    perform app.refuse('deal_full', format('A deal can have at most %s %s.', to_char(tg_argv[0]::int, 'FM999,999'), tg_argv[1]));
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.limit_people()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  part constant int := 2000;
  ever constant int := 10000;
  there record;
begin
  if not app.has_caller() or new.role = 'broker' then
    return new;
  end if;
  perform from public.deals d where d.id = new.deal_id for no key update;
  if exists (select from public.participants p where p.deal_id = new.deal_id and p.user_id = new.user_id) then
    return new;
  end if;
  select count(*) as ever, count(*) filter (where p.status in ('invited', 'active')) as now into there
    from public.participants p where p.deal_id = new.deal_id;
  if there.ever >= ever then
    perform app.refuse('deal_full', format('%s people have been on this deal, which is the limit: continue with a new deal.', to_char(ever, 'FM999,999')));
  end if;
  if there.now >= part then
    perform app.refuse('deal_full', format('A deal can have at most %s people at a time: remove somebody first.', to_char(part, 'FM999,999')));
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.limit_sandbox()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  -- Of a key's identity its brokerage; of a person's nothing. It is only held back by it.
  brokerage constant uuid := nullif(split_part(current_setting('dealkeep.identity', true), ',', 4), '');
begin
  if brokerage is not null and exists (select from public.brokerages b where b.id = brokerage and b.sandbox_of is not null) then
    perform app.check_room_of_sandbox(brokerage, tg_table_name, tg_argv[0]::int, tg_argv[1], tg_argv[2]::bigint);
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.link_deal_invitation(to_participation uuid, token bytea, mailed boolean)
 RETURNS TABLE(email text, name text, deal_title text, brokerage_name text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  invited public.participants;
begin
  select p.* into invited from public.participants p join public.deals d on d.id = p.deal_id
    where p.id = to_participation and p.status = 'invited' and app.client_id() is null
      and (d.id = any (app.deals_acting_as('broker')) or d.organization_id = any (app.brokerages_as('admin')));
  if not found then
    raise insufficient_privilege using message = 'not a broker of this deal, or nobody is invited';
  end if;
  delete from vault.invitations i where i.participant_id = invited.id and i.used_at is null;
  insert into vault.invitations (digest, user_id, participant_id, mailed)
    values (token, invited.user_id, invited.id, link_deal_invitation.mailed);
  return query
    select coalesce(invited.invited_email, u.email), coalesce(invited.invited_name, u.name), d.title, b.name
    from public.users u, public.deals d join public.brokerages b on b.id = d.organization_id
    where u.id = invited.user_id and d.id = invited.deal_id;
end
$function$;
GRANT EXECUTE ON FUNCTION app.link_deal_invitation(uuid,bytea,boolean) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.link_of_mail(mail uuid)
 RETURNS TABLE(expires_at timestamp with time zone, reply_to text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Mails are made by those who deliver them.');
  end if;
  return query
    select coalesce(i.expires_at, r.expires_at, a.expires_at),
      case when o.kind = 'invitation' and u.suspended_at is null and u.email not like '%.invalid'
          and (exists (select from public.members m where m.brokerage_id = o.brokerage_id and m.user_id = u.id and m.status = 'active')
            or exists (select from public.participants p where p.deal_id = o.deal_id and p.user_id = u.id and p.status = 'active'))
        then u.email end
    from vault.outbox o
    left join vault.invitations i on i.digest = o.link
    left join vault.password_resets r on r.digest = o.link
    left join vault.address_changes a on a.digest = o.link
    left join public.users u on u.id = o.caused_by
    where o.id = link_of_mail.mail and o.sent_at is null;
end
$function$;
GRANT EXECUTE ON FUNCTION app.link_of_mail(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.listed_deals(deals uuid[])
 RETURNS TABLE(id uuid, organization_name text, summary text, currency text, needs_nda boolean, questions_waiting integer, offers integer)
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select r.id, r.organization_name, r.summary, r.currency, r.needs_nda, r.questions_waiting, r.offers from app.deal_rows(deals) r
$function$;
GRANT EXECUTE ON FUNCTION app.listed_deals(uuid[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.listeners_told(changes jsonb, presented bytea)
 RETURNS TABLE(session_id uuid, topic text, deal_id uuid)
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  deals constant uuid[] := (select coalesce(array_agg(distinct c.deal_id), '{}')
    from jsonb_to_recordset(changes) as c (deal_id uuid, "table" text) where c."table" not in ('deal_opt_ins', 'notifications'));
  people constant uuid[] := (select coalesce(array_agg(distinct person), '{}')
    from jsonb_to_recordset(changes) as c (records uuid[], "table" text), unnest(c.records) person
    where c."table" in ('deal_opt_ins', 'notifications'));
  listener record;
begin
  for listener in
    -- An opt-in is its owner's, whatever the deal, and so is what somebody hears of: they stand under no deal here.
    with of_deal as (
      select case when c ->> 'table' not in ('deal_opt_ins', 'notifications') then (c ->> 'deal_id')::uuid end as deal, jsonb_agg(c) as changes
      from jsonb_array_elements(changes) c group by 1
    )
    select s.session_id, s.digest, one.deal, o.changes
    from app.sessions_concerned(deals, people, presented) s
    cross join lateral (select distinct unnest(s.of_deals) as deal) one
    join of_deal o on o.deal is not distinct from one.deal
  loop
    perform from app.enter_with_session(listener.digest, false, case when listener.deal is not null then 'deals' end, listener.deal);
    continue when not found;
    return query
      select listener.session_id, c.topic, c.deal_id
      from jsonb_to_recordset(listener.changes) as c (topic text, "table" text, records uuid[], deal_id uuid, gone boolean)
      where app.sees_any(c."table", c.records, c.deal_id, c.gone);
  end loop;
  perform set_config('dealkeep.identity', '', true), set_config('dealkeep.seal', '', true);
end
$function$;
GRANT EXECUTE ON FUNCTION app.listeners_told(jsonb,bytea) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.load_deal()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  insert into public.deal_stages (deal_id, state, updated_at, brokerage_id)
    values (new.id, new.state, new.updated_at, new.organization_id);
  new.state := 'under_offer';
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.lock_deal(deal uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if deal = any (app.deals_acting_as('broker')) then
    perform from public.deals d where d.id = deal for no key update;
    return deal;
  end if;
  return null;
end
$function$;
GRANT EXECUTE ON FUNCTION app.lock_deal(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.lock_deal_first()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.lock_deal(new.deal_id);
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.lock_deal_of_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_table_name = 'participants' then
    if new.role <> old.role or (new.status = 'removed' and old.status <> 'removed') then
      -- Those who leave with them (app.remove_advisors), before the deal, as whoever answers an invitation takes it.
      perform from public.participants p where p.advises = new.id order by p.id for no key update;
    end if;
    -- Sellers leave one after the other, or two who leave at once would each leave the questions to the other.
    if old.role = 'seller' and old.status = 'active' then
      perform from public.deals d where d.id = new.deal_id for no key update;
    end if;
  end if;
  if tg_table_name = 'participants' and new.status = 'active' then
    perform from public.deals d where d.id = new.deal_id for no key update;
  elsif old.status = 'active' then
    perform from public.deals d where d.id = new.deal_id for share;
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.lock_part_first()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_table_name = 'offers' then
    perform from public.participants p
      where p.deal_id = new.deal_id and p.user_id = app.user_id() and p.role = 'buyer' and p.status = 'active' for no key update;
  elsif new.deal_id = any (app.deals_acting_as('broker')) then
    perform from public.participants p where p.id = new.participant_id and p.deal_id = new.deal_id for no key update;
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.lock_parts(person uuid, of_brokerage uuid DEFAULT NULL::uuid, successor uuid DEFAULT NULL::uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  -- Withdrawn with them (app.end_parts_of_member).
  made constant uuid[] := array(select app.deal_invitations_made(person, of_brokerage));
  part record;
begin
  -- Theirs, and those of who leaves with them (app.remove_advisors).
  perform from public.participants p
    where p.user_id = person and (of_brokerage is null or p.brokerage_id = of_brokerage)
      or p.user_id = successor and p.brokerage_id = of_brokerage and exists (
        select from public.participants o where o.deal_id = p.deal_id and o.user_id = person and o.role = 'broker' and o.status = 'active')
      or p.advises = any (array(select o.id from public.participants o
        where o.user_id in (person, successor) and (of_brokerage is null or o.brokerage_id = of_brokerage)))
      or p.id = any (made) or p.advises = any (made)
    order by p.advises is not null, p.id for no key update;
  for part in
    select p.deal_id, bool_or(p.role in ('broker', 'seller')) as runs from public.participants p
    where (p.user_id = person or p.advises = any (made) or p.advises = any (array(select o.id from public.participants o where o.user_id = person)))
      and p.status = 'active' and (of_brokerage is null or p.brokerage_id = of_brokerage)
    group by p.deal_id order by p.deal_id
  loop
    -- Brokers and sellers leave a deal one after the other, or two who leave at once would each count on the other. Others leave it while people write on it.
    if part.runs then
      perform from public.deals d where d.id = part.deal_id for no key update;
    else
      perform from public.deals d where d.id = part.deal_id for share;
    end if;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION app.logo_of_mail(mail uuid)
 RETURNS TABLE(media_type text, width integer, height integer, picture bytea)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Mails are made by those who deliver them.');
  end if;
  return query
    select l.media_type, l.width, l.height, l.picture from vault.outbox o join public.brokerage_logos l on l.brokerage_id = o.brokerage_id
    where o.id = logo_of_mail.mail and o.sent_at is null;
end
$function$;
GRANT EXECUTE ON FUNCTION app.logo_of_mail(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.mail_counts()
 RETURNS TABLE(waiting bigint, given_up bigint, oldest_seconds double precision)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select w.waiting, (select count(*) from (select from vault.outbox o where o.given_up_at is not null limit 10000) u),
    coalesce(extract(epoch from app.now() - w.oldest), 0)::float8
  from (
    select count(*) as waiting, min(o.created_at) as oldest
    from (select o.created_at from vault.outbox o where o.sent_at is null and o.given_up_at is null order by o.created_at limit 10000) o) w
$function$;
GRANT EXECUTE ON FUNCTION app.mail_counts() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.mail_deletion(of_brokerage uuid, by_whom uuid, due timestamp with time zone, cancelled boolean, only_to uuid DEFAULT NULL::uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  facts constant jsonb := jsonb_build_object('brokerage', (select b.name from public.brokerages b where b.id = of_brokerage), 'due_at', due, 'cancelled', cancelled);
  author constant jsonb := jsonb_build_object('by', (select w.name from public.users w where w.id = by_whom));
begin
  perform app.queue_mail(case when p.administers then 'brokerage_deletion' else 'deletion_of_deals' end, u.email, u.id, of_brokerage, null, false,
      facts || jsonb_build_object('name', u.name) || case when p.administers then author else '{}' end, null, null)
    from (
      select a.user_id, bool_or(a.administers) as administers
      from (
        select m.user_id, m.role = 'admin' as administers from public.members m where m.brokerage_id = of_brokerage and m.status = 'active'
        union all
        select p.user_id, false from public.deals d join public.participants p on p.deal_id = d.id
          where d.organization_id = of_brokerage and p.status = 'active') a
      where only_to is null or a.user_id = only_to
      group by a.user_id) p
    join public.users u on u.id = p.user_id and u.suspended_at is null
    order by p.administers desc, u.id;
end
$function$;

CREATE OR REPLACE FUNCTION app.mail_failed(mail uuid, attempt integer, reason text, final boolean, outage boolean DEFAULT false)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  next_at constant timestamptz := (
    select least(o.give_up_at, app.now() + case
      when outage then (array['1 min', '5 min']::interval[])[least(o.attempts, 2)]
      else (array['1 min', '5 min', '15 min', '1 h', '3 h', '6 h']::interval[])[least(o.refusals + 1, 6)] end)
    from vault.outbox o where o.id = mail);
begin
  update vault.outbox o set claimed_until = null, last_error = left(reason, 500),
      given_up_at = case when final or app.now() >= o.give_up_at then app.now() end,
      secret = case when final or app.now() >= o.give_up_at then null else o.secret end,
      refusals = o.refusals + case when outage then 0 else 1 end,
      rank = o.rank % 10 + 10, next_attempt_at = next_at, turn_at = next_at
    where o.id = mail and o.attempts = attempt and o.sent_at is null and o.given_up_at is null;
  return found;
end
$function$;
GRANT EXECUTE ON FUNCTION app.mail_failed(uuid,integer,text,boolean,boolean) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.mail_not_needed(mail uuid, attempt integer)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  delete from vault.outbox o where o.id = mail and o.attempts = attempt and o.sent_at is null and o.given_up_at is null;
  return found;
end
$function$;
GRANT EXECUTE ON FUNCTION app.mail_not_needed(uuid,integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.mail_sent(mail uuid, attempt integer)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  update vault.outbox o set sent_at = app.now(), claimed_until = null, facts = '{}', secret = null, last_error = null
    where o.id = mail and o.attempts = attempt and o.sent_at is null and o.given_up_at is null;
  return found;
end
$function$;
GRANT EXECUTE ON FUNCTION app.mail_sent(uuid,integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.mail_trouble(link bytea)
 RETURNS text
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select case when o.given_up_at is not null then 'undelivered' when o.attempts > 0 and o.last_error is not null then 'delayed' end
  from vault.outbox o where o.link = mail_trouble.link and o.sent_at is null
$function$;

CREATE OR REPLACE FUNCTION app.mailbox_of(address text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO ''
AS $function$
  select regexp_replace(lower(address), '^([^"+@][^+@]*)\+[^@]*@', '\1@')
$function$;

CREATE OR REPLACE FUNCTION app.mails_in_turn(of_rank integer, early boolean, most integer)
 RETURNS SETOF uuid
 LANGUAGE sql
 STABLE
 SET search_path TO ''
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
AS $function$
  select n.id from (
    (select o.id, o.turn_at from vault.outbox o
      where o.sent_at is null and o.given_up_at is null and o.rank = of_rank and o.next_attempt_at <= app.now()
        and o.turn_at > case when early then app.now() else '-infinity' end and o.turn_at <= case when early then 'infinity' else app.now() end
        and (o.claimed_until is null or o.claimed_until <= app.now())
      order by o.turn_at limit most)
    union all
    (select o.id, o.turn_at from vault.outbox o
      where o.sent_at is null and o.given_up_at is null and o.rank = of_rank + 10 and o.turn_at <= app.now() and not early
        and (o.claimed_until is null or o.claimed_until <= app.now())
      order by o.turn_at limit most)) n
  order by n.turn_at limit most
$function$;

CREATE OR REPLACE FUNCTION app.mails_of_deleted_brokerage(of_brokerage uuid, among uuid[])
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Brokerages are deleted by a scheduled job.');
  end if;
  if among = '{}' or not exists (select from vault.brokerage_deletions d where d.brokerage_id = of_brokerage and d.due_at <= app.now())
    or exists (select from app.hold_on_brokerage(of_brokerage))
  then
    return;
  end if;
  return query
    select o.id from vault.outbox o
    where o.id = any (among)
      and (o.brokerage_id = of_brokerage or exists (select from public.deals l where l.id = o.deal_id and l.organization_id = of_brokerage));
end
$function$;
GRANT EXECUTE ON FUNCTION app.mails_of_deleted_brokerage(uuid,uuid[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.mails_of_oneself(session bytea)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return query select m.id from app.recent_session(session) r cross join lateral app.mails_of_person(r.user_id) m (id);
end
$function$;
GRANT EXECUTE ON FUNCTION app.mails_of_oneself(bytea) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.mails_of_person(person uuid)
 RETURNS SETOF uuid
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select o.id from vault.outbox o
  where o.recipient_id = person or o.caused_by = person or o.recipient = (select u.email from public.users u where u.id = person)
$function$;

CREATE OR REPLACE FUNCTION app.mails_this_hour(subject text)
 RETURNS integer
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select coalesce((select m.sent from vault.mail_counts m
    where m.subject = 'hour ' || mails_this_hour.subject and m.since = date_trunc('hour', app.now(), 'UTC')), 0)
$function$;

CREATE OR REPLACE FUNCTION app.make_calendar_link(token bytea, address inet, request_id text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.user_id() is null or app.client_id() is not null or not app.session_goes_on() then
    perform app.refuse('not_a_person', 'Sign in to make a link to your calendar.');
  end if;
  perform app.check_not_barred();
  insert into vault.calendar_links as l (user_id, digest, factor_shown) values (app.user_id(), token, app.has_shown_factor())
    on conflict (user_id) do update set digest = excluded.digest, created_at = excluded.created_at, factor_shown = excluded.factor_shown;
  perform app.record(app.user_id(), 'calendar_link.make', 'done', null, address, request_id);
end
$function$;
GRANT EXECUTE ON FUNCTION app.make_calendar_link(bytea,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.make_sandbox()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.set_up_sandbox(new.brokerage_id, false);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.mark_brokerage(brokerage uuid, days integer, by_whom uuid)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  due timestamptz := app.now() + make_interval(days => days);
begin
  perform from public.brokerages b where b.id = brokerage for update;
  if not found then
    return null;
  end if;
  if days is null or days not between 7 and 365 then
    perform app.refuse('days_out_of_bounds', 'A brokerage is deleted after 7 to 365 days.');
  end if;
  if exists (select from app.hold_on_brokerage(brokerage)) then
    perform app.refuse('legal_hold', case when by_whom is null
      then (select format('A legal hold on the %s %s stops this: when it has ended, dealkeep hold off %s %s.', h.kind, h.subject_id, h.kind, h.subject_id)
        from app.hold_on_brokerage(brokerage) h)
      else 'The data of the brokerage must be kept for now because of a legal hold: the operator of this service can tell you more.' end);
  end if;
  insert into vault.brokerage_deletions (brokerage_id, asked_by, due_at) values (brokerage, by_whom, due) on conflict do nothing;
  if not found then
    perform app.refuse('deletion_asked', 'This brokerage is going to be deleted already.');
  end if;
  perform app.mail_deletion(brokerage, by_whom, due, false);
  return due;
end
$function$;

CREATE OR REPLACE FUNCTION app.mark_changed_webhooks()
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
AS $function$
declare
  now constant timestamptz := app.now();
  stream vault.change_stream;
  reach bigint;
  changed uuid[];
  free uuid[];
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Webhooks are delivered by the worker.');
  end if;
  select s.* into stream from vault.change_stream s;
  if stream.webhooks_history = stream.history and stream.webhooks_marked >= stream.published then
    free := array(select e.id from public.webhook_endpoints e where e.id = any (stream.webhooks_held) for no key update skip locked);
    if free = '{}' then
      return false;
    end if;
  end if;
  select s.* into stream from vault.change_stream s for no key update;
  if stream.webhooks_history = stream.history and stream.webhooks_marked >= stream.published and stream.webhooks_held = '{}' then
    -- Another node has marked them meanwhile. What is locked by now is let go before anything else is waited for.
    return true;
  end if;
  -- After a restore, numbers begin anew where the backup was made.
  if stream.webhooks_history is distinct from stream.history then
    update public.webhook_endpoints e set place = least(e.place, stream.published), history = stream.history where e.history <> stream.history;
    stream.webhooks_marked := least(stream.webhooks_marked, stream.published);
  end if;
  reach := least(stream.published, stream.webhooks_marked + 10000);
  changed := array(select distinct c.brokerage_id from public.change_events c where c.seq + 0 > stream.webhooks_marked and c.seq + 0 <= reach);
  changed := array(
    select e.id from public.webhook_endpoints e
    where e.state = 'on' and e.queue_at is distinct from 'infinity'::timestamptz and e.brokerage_id = any (changed)
    union
    select e.id from public.webhook_endpoints e where e.id = any (stream.webhooks_held));
  free := array(select e.id from public.webhook_endpoints e where e.id = any (changed) for no key update skip locked);
  update public.webhook_endpoints e set queue_at = case when app.has_key_ended(e.key_id) then 'infinity' else now end
    where e.id = any (free) and (e.queue_at is null or app.has_key_ended(e.key_id));
  update vault.change_stream s set webhooks_marked = greatest(reach, stream.webhooks_marked), webhooks_history = stream.history,
    webhooks_held = array(select c.id from unnest(changed) c (id) where c.id <> all (free));
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.mark_changed_webhooks() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.may_export(brokerage uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if brokerage is null or not brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return false;
  end if;
  perform app.check_recent_sign_in();
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.may_export(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.may_move(deal_id uuid, target text, confirmed boolean)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if target = 'closed' and not coalesce(confirmed, false) then
    -- For nobody who may not change it: its policies hold here, too.
    perform from public.deals d where d.id = may_move.deal_id for no key update;
    if app.state_shown(deal_id) = 'closing' and app.closing_warnings(deal_id) <> '{}' then
      perform app.refuse('closing_unconfirmed', 'Something is missing for the closing: review it, and confirm that the deal is closed anyway.');
    end if;
  end if;
  -- A deal that is closed already is updated all the same, so that the trigger refuses it.
  return target = 'closed' or app.state_shown(deal_id) is distinct from target;
end
$function$;
GRANT EXECUTE ON FUNCTION app.may_move(uuid,text,boolean) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.may_open(deal_id uuid, confidentiality text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return app.document_is_visible(deal_id, confidentiality, app.user_id() is not null and app.seen_deal(deal_id) is not null,
    app.deals_as('broker', 'seller', 'documents:content'), app.deals_under_nda(), app.deals_held_exclusively());
end
$function$;

CREATE OR REPLACE FUNCTION app.member_has_second_factor(of_brokerage uuid, member uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (select app.has_second_factor(m.user_id) from public.members m
    where m.brokerage_id = of_brokerage and m.person_id = member and m.status = 'active'
      and of_brokerage = any (app.brokerages_as('admin')));
end
$function$;
GRANT EXECUTE ON FUNCTION app.member_has_second_factor(uuid,uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.member_invitations()
 RETURNS TABLE(brokerage_id uuid, brokerage_name text, role text, expires_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return query
    select b.id, b.name, m.role, max(i.expires_at)
    from public.members m
    join public.brokerages b on b.id = m.brokerage_id
    join vault.invitations i on i.user_id = m.user_id and i.brokerage_id = m.brokerage_id and i.used_at is null and i.expires_at > app.now()
    where m.user_id = app.user_id() and m.status = 'invited' and not app.address_in_doubt(b.id)
      and not exists (select from vault.deletions_begun g where g.brokerage_id = b.id)
    group by b.id, b.name, m.role
    order by 4 desc, 1 desc limit 20;
end
$function$;
GRANT EXECUTE ON FUNCTION app.member_invitations() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.member_invitations_made(person uuid, of_brokerage uuid)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
    with made as materialized (
      select r.subject_id as id, max(r.at) as at from public.audit_records r
      where r.user_id = person and r.action not like 'tool:%' and r.action collate "C" = 'member.invite' and r.outcome = 'done'
        and r.brokerage_id = of_brokerage
      group by r.subject_id)
    select i.user_id from public.members i join made m on m.id = i.person_id::text
    where i.brokerage_id = of_brokerage and i.status = 'invited'
      and not exists (select from public.audit_records l
        where l.brokerage_id = of_brokerage and l.action not like 'tool:%' and l.action collate "C" = 'member.invite' and l.at > m.at
          and l.subject_id = m.id and l.user_id is distinct from person);
end
$function$;

CREATE OR REPLACE FUNCTION app.member_link_until(of_brokerage uuid, person uuid)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if (of_brokerage = any (app.brokerages_as('admin'))) is not true then
    return null;
  end if;
  return (
    select coalesce(
      (select max(i.expires_at) from vault.invitations i
        where i.user_id = m.user_id and i.brokerage_id = m.brokerage_id and i.used_at is null), m.updated_at)
    from public.members m where m.brokerage_id = of_brokerage and m.person_id = person and m.status = 'invited');
end
$function$;
GRANT EXECUTE ON FUNCTION app.member_link_until(uuid,uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.member_mail_trouble(of_brokerage uuid, person uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if not of_brokerage = any (app.brokerages_as('admin')) then
    return null;
  end if;
  return (
    select app.mail_trouble(i.digest) from public.members m
    join vault.invitations i on i.user_id = m.user_id and i.brokerage_id = m.brokerage_id and i.used_at is null
    where m.brokerage_id = of_brokerage and m.person_id = person and m.status = 'invited');
end
$function$;
GRANT EXECUTE ON FUNCTION app.member_mail_trouble(uuid,uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.member_scopes()
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN '{contacts:read,contacts:write,events:read}'::text[];

CREATE OR REPLACE FUNCTION app.memberships_of(person uuid)
 RETURNS TABLE(asking uuid[], administered uuid[])
 LANGUAGE sql
 STABLE
BEGIN ATOMIC
 SELECT COALESCE(array_agg(m.brokerage_id) FILTER (WHERE ( SELECT b.requires_second_factor
            FROM public.brokerages b
           WHERE (b.id = m.brokerage_id))), '{}'::uuid[]) AS "coalesce",
     COALESCE(array_agg(m.brokerage_id) FILTER (WHERE (m.role = 'admin'::text)), '{}'::uuid[]) AS "coalesce"
    FROM public.members m
   WHERE ((m.user_id = memberships_of.person) AND (m.status = 'active'::text));
END;

CREATE OR REPLACE FUNCTION app.merge_contacts(kept uuid, other uuid, tags text[], address inet, request_id text)
 RETURNS TABLE(outcome text, id uuid, type text, display_name text, email text, phone text, external_id text, archived_at timestamp with time zone, merged_into uuid, erased_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone, tag text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  brokerage constant uuid := (select b.id from unnest(app.brokerages_for('contacts:write')) b (id) where b.id = any (app.brokerages_for('contacts:read')) limit 1);
  c public.contacts;
  o public.contacts;
begin
  if app.key_id() is null or brokerage is null then
    return;
  end if;
  -- As app.write_contacts, which locks contacts in the order of its items.
  perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('contacts ' || brokerage, 0));
  perform from public.contacts k where k.id in (kept, other) and k.brokerage_id = brokerage order by k.id for update;
  select k.* into c from public.contacts k where k.id = kept and k.brokerage_id = brokerage;
  select k.* into o from public.contacts k where k.id = other and k.brokerage_id = brokerage;
  if c.id is null then
    outcome := 'not_found';
  elsif c.archived_at is not null then
    outcome := case when c.erased_at is null then 'archived' else 'erased' end;
  elsif not (array[app.contact_tag(c.id, c.version, c.updated_at), '*'] && tags) then
    outcome := 'stale';
  elsif o.merged_into = c.id then
    outcome := 'unchanged';
    perform app.audit('contact.merge', c.id::text, 'done', brokerage, null, address, request_id, jsonb_build_object('from', o.id, 'changed', '[]'::jsonb));
  elsif o.id is null then
    outcome := 'other_not_found';
  elsif o.archived_at is not null then
    outcome := case when o.erased_at is null then 'archived' else 'erased' end;
    c := o;
  elsif o.type <> c.type then
    outcome := 'of_another_type';
  else
    outcome := 'done';
    update public.contacts k set archived_at = app.now(), merged_into = c.id,
      external_id = case when c.external_id is not null then k.external_id end where k.id = o.id;
    update public.contacts k set merged_into = c.id where k.merged_into = o.id;
    update public.contacts k set email = coalesce(c.email, o.email), phone = coalesce(c.phone, o.phone),
      external_id = coalesce(c.external_id, o.external_id) where k.id = c.id returning k.* into c;
    perform app.audit('contact.merge', c.id::text, 'done', brokerage, null, address, request_id, jsonb_build_object('from', o.id));
  end if;
  return query select outcome, c.id, c.type, c.display_name, c.email, c.phone, c.external_id, c.archived_at::timestamptz, c.merged_into, c.erased_at::timestamptz,
    c.created_at::timestamptz, c.updated_at::timestamptz, app.contact_tag(c.id, c.version, c.updated_at);
end
$function$;
GRANT EXECUTE ON FUNCTION app.merge_contacts(uuid,uuid,text[],inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.move_deal_with_exclusivity()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_op = 'INSERT' then
    update public.deals d set state = 'exclusivity'
      where d.id = new.deal_id and app.actual_state(d.id) not in ('exclusivity', 'diligence', 'closing');
  elsif new.ended_at is not null and old.ended_at is null then
    update public.deals d set state = 'listed' where d.id = new.deal_id and app.actual_state(d.id) = 'exclusivity';
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.must_see(seen boolean)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if seen is not true then
    perform app.refuse('not_found', 'It does not exist, or you do not have access to it.');
  end if;
end
$function$;
GRANT EXECUTE ON FUNCTION app.must_see(boolean) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.name_in_sight(of_table text, record text, deal uuid)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  narrowed constant uuid := app.narrowed_to();
  whole constant text := app.whole_identity();
  identity constant text := current_setting('dealkeep.identity', true);
  seal constant text := current_setting('dealkeep.seal', true);
  found text;
begin
  if app.user_id() is null or (narrowed is not null and narrowed <> deal) or record !~ '^[0-9a-f-]{36}$' then
    return null;
  end if;
  found := case of_table
    when 'documents' then (select d.filename from public.documents d where d.id = record::uuid and d.deal_id = deal)
    when 'production_documents' then (select d.filename from public.production_documents d where d.id = record::uuid and d.deal_id = deal)
    when 'closing_conditions' then (select c.name from public.closing_conditions c where c.id = record::uuid and c.deal_id = deal)
    when 'findings' then (select f.title from public.findings f where f.id = record::uuid and f.deal_id = deal)
  end;
  if found is null then
    return null;
  end if;
  if narrowed is null then
    perform app.seal(whole || ',' || app.standing(app.user_id(), app.barred_in(whole), app.brokerages_as('admin'), deal));
  end if;
  if not app.could_open(of_table, record::uuid, deal) then
    found := null;
  end if;
  if narrowed is null then
    perform set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', seal, true);
  end if;
  return found;
end
$function$;
GRANT EXECUTE ON FUNCTION app.name_in_sight(text,text,uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.named_in(answer text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO ''
AS $function$
  select coalesce(array_agg(distinct n.found), '{}') from (
    select m.found[1] as found from regexp_matches(lower(answer), '"[^"\\]*@[^"\\]*"', 'g') m (found)
    union all
    select m.found[1] from regexp_matches(lower(answer), '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}', 'g') m (found)) n
  where length(n.found) <= 256
$function$;

CREATE OR REPLACE FUNCTION app.names_of_documents(deal_id uuid, ids uuid[])
 RETURNS TABLE(id uuid, filename text, removed_at timestamp with time zone)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select d.id, d.filename, d.removed_at from public.documents d
  where d.id = any (ids) and d.deal_id = names_of_documents.deal_id and d.deal_id = any (app.deals_as('broker', 'seller'))
  union all
  select d.id, d.filename, d.removed_at from public.production_documents d
  where d.id = any (ids) and d.deal_id = names_of_documents.deal_id and d.deal_id = any (app.deals_as('broker', 'seller'))
$function$;
GRANT EXECUTE ON FUNCTION app.names_of_documents(uuid,uuid[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.narrow_again()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  deal constant uuid := app.narrowed_to();
  person constant uuid := app.user_id();
  identity constant text := app.whole_identity();
begin
  if deal is not null and person is not null then
    perform app.seal(identity || ',' || app.standing(person, app.barred_in(identity), app.brokerages_as('admin'), deal));
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.narrowed_to()
 RETURNS uuid
 LANGUAGE sql
 STABLE
RETURN (app.identity_part(8))::uuid;
GRANT EXECUTE ON FUNCTION app.narrowed_to() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.next_attempt_of_webhook(endpoint uuid)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
RETURN (SELECT d.next_attempt_at FROM public.webhook_deliveries d WHERE ((d.endpoint_id = next_attempt_of_webhook.endpoint) AND (d.state = 'waiting'::text) AND (d.next_attempt_at IS NOT NULL)) ORDER BY d.next_attempt_at LIMIT 1);

CREATE OR REPLACE FUNCTION app.next_digest(person uuid)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  chosen vault.notification_settings;
begin
  select s.* into chosen from vault.notification_settings s where s.user_id = person;
  return app.next_hour(coalesce(chosen.time_zone, 'UTC'), coalesce(chosen.digest_hour, 8), app.now());
end
$function$;

CREATE OR REPLACE FUNCTION app.next_hour(zone text, hour integer, since timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  today constant date := (since at time zone zone)::date;
  coming timestamptz;
begin
  coming := (today + make_time(hour, 0, 0)) at time zone zone;
  if coming <= since then
    coming := (today + 1 + make_time(hour, 0, 0)) at time zone zone;
  end if;
  return coming;
end
$function$;

CREATE OR REPLACE FUNCTION app.none_under_way(below xid8)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  now constant pg_snapshot := pg_catalog.pg_current_snapshot();
  under_way xid8[];
begin
  if pg_catalog.pg_snapshot_xmin(now) >= below then
    return true;
  elsif pg_catalog.pg_snapshot_xmax(now) < below then
    return false;
  end if;
  under_way := array(select x from pg_catalog.pg_snapshot_xip(now) x where x < below);
  for look in 1..2 loop
    perform pg_catalog.pg_stat_clear_snapshot();
    if exists (select from unnest(under_way) x where not exists (
        select from pg_catalog.pg_stat_activity a join pg_catalog.pg_database d on d.oid = a.datid
        where a.backend_xid = x::xid and d.datname <> pg_catalog.current_database())) then
      return false;
    end if;
  end loop;
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION app.note_answer()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform from public.deals d where d.id = new.deal_id for share;
  insert into vault.answers_of_people as known (user_id, deal_id, at, first_at)
    select p.user_id, p.deal_id, coalesce(new.distributed_at, '-infinity'), coalesce(new.distributed_at, '-infinity') from public.participants p
    where p.deal_id = new.deal_id and p.status = 'active' and coalesce(p.advises, p.id) = new.participant_id
    order by p.user_id
    on conflict (user_id, deal_id) do update
      set at = greatest(known.at, excluded.at), first_at = case when known.first_at is not null then least(known.first_at, excluded.first_at) end
      where known.at < excluded.at or known.first_at > excluded.first_at;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.note_change_of_end()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  new.changed_at := app.now();
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.note_changes()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_op = 'DELETE' and current_setting('dealkeep.deleting', true) = 'on' then
    return null;
  end if;
  insert into public.change_events (brokerage_id, about_deal, object_type, object_id, change)
    select n.brokerage_id, n.deal_id, tg_argv[0], n.id, case tg_op when 'INSERT' then 'created' when 'UPDATE' then 'updated' else 'removed' end
    from changed n;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.note_changes_of_parts()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_op = 'DELETE' and current_setting('dealkeep.deleting', true) = 'on' then
    return null;
  end if;
  insert into public.change_events (brokerage_id, about_deal, object_type, object_id, change)
    select distinct (r.part ->> 'brokerage_id')::uuid,
      coalesce((r.part ->> 'deal_id')::uuid, (select f.deal_id from public.findings f where f.id = (r.part ->> tg_argv[1])::uuid)),
      tg_argv[0], (r.part ->> tg_argv[1])::uuid, 'updated'
    from (select to_jsonb(n) as part from changed n) r;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.note_confidentiality()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  -- Whoever could open it within the last day knows it.
  new.confidentiality_before := case
    when old.confidentiality_changed_at > app.now() - interval '1 day' and app.is_wider(old.confidentiality_before, old.confidentiality)
    then old.confidentiality_before else old.confidentiality end;
  new.confidentiality_changed_at := app.now();
  return new;
end $function$;

CREATE OR REPLACE FUNCTION app.note_contacts()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_op = 'UPDATE' then
    insert into public.change_events (brokerage_id, object_type, object_id, change)
      select n.brokerage_id, 'contact', n.id, case when (o.archived_at is null) = (n.archived_at is null) then 'updated'
          when n.archived_at is null then 'restored' else 'archived' end
      from changed n join before o on o.id = n.id;
  elsif current_setting('dealkeep.deleting', true) is distinct from 'on' then
    insert into public.change_events (brokerage_id, object_type, object_id, change) select n.brokerage_id, 'contact', n.id, 'removed' from changed n;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.note_deals()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_op = 'UPDATE' then
    insert into public.change_events (brokerage_id, about_deal, object_type, object_id, change)
      select n.organization_id, n.id, 'deal', n.id, case when n.keys_admitted and not o.keys_admitted then 'admitted' else 'updated' end
      from changed n join before o on o.id = n.id
      where n is distinct from o;
  elsif tg_op = 'DELETE' then
    if current_setting('dealkeep.deleting', true) is distinct from 'on' then
      insert into public.change_events (brokerage_id, about_deal, object_type, object_id, change)
        select n.organization_id, n.id, 'deal', n.id, 'removed' from changed n;
    end if;
  else
    insert into public.change_events (brokerage_id, about_deal, object_type, object_id, change)
      select n.organization_id, n.id, 'deal', n.id, 'created' from changed n;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.note_deliveries(lots jsonb)
 RETURNS TABLE(endpoint_id uuid, id uuid, seq bigint, event_id uuid, type text, object_type text, object_id uuid, about_deal uuid, occurred_at timestamp with time zone, attempts integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_column
declare
  now constant timestamptz := app.now();
  lot record;
  this public.webhook_endpoints;
  noted record;
  rests timestamptz;
begin
  for lot in
    -- Locked in one order by all nodes; those of one webhook in the order given, so that the one that ends its lot comes last.
    select l.* from rows from (jsonb_to_recordset(lots) as (endpoint uuid, claim uuid, is_over boolean, more int, held uuid[], attempts jsonb)) with ordinality
        l (endpoint, claim, is_over, more, held, attempts, place)
      order by l.endpoint, l.place
  loop
    select e.* into this from public.webhook_endpoints e where e.id = lot.endpoint and e.claim = lot.claim for no key update;
    continue when this.id is null;
    with attempted as (
      select a.*, d.object_id, d.nr, d.attempts_before, coalesce(d.first_attempt_at, now) as first_at,
        case when a.outcome = 'failed' and (now < coalesce(d.first_attempt_at, now) + interval '3 days' or a.nth - d.attempts_before < 8)
          then 'waiting' else a.outcome end as ends
      from rows from (jsonb_to_recordset(lot.attempts) as (id uuid, nth int, outcome text, url text, bytes int, digest text, status int, error text, answer text,
        answer_type text, millis int)) with ordinality a (id, nth, outcome, url, bytes, digest, status, error, answer, answer_type, millis, place)
      join public.webhook_deliveries d on d.id = a.id
      where d.endpoint_id = this.id and d.state = 'waiting' and d.attempts = a.nth - 1
    ), written as (
      update public.webhook_deliveries d set state = a.ends, attempts = a.nth, first_attempt_at = a.first_at, last_attempt_at = now,
          ended_at = case when a.ends <> 'waiting' then now end,
          next_attempt_at = case when a.ends = 'waiting' then least(case when a.first_at + interval '3 days' > now then a.first_at + interval '3 days' end, now
            + (array['5 s', '30 s', '2 min', '10 min', '30 min', '1 h', '2 h', '4 h', '8 h', '12 h']::interval[])[least(a.nth - d.attempts_before, 10)] * (0.8 + random() * 0.4)) end,
          sent_to = a.url, sent_bytes = a.bytes, sent_digest = a.digest, status = a.status, error = left(a.error, 500), answer = left(a.answer, 4096),
          answer_type = left(a.answer_type, 255), millis = a.millis
        from attempted a where d.id = a.id
    ), freed as (
      update public.webhook_deliveries d set next_attempt_at = now
        from attempted a
        cross join lateral (select w.id from public.webhook_deliveries w
          where w.endpoint_id = this.id and w.object_id = a.object_id and w.state = 'waiting' and w.nr > a.nr order by w.nr limit 1) n
        where a.ends <> 'waiting' and d.id = n.id and d.next_attempt_at is null
    )
    select count(*) filter (where a.outcome <> 'dropped') as tried, coalesce(max(a.millis), 0) > 3000 as is_slow, coalesce(max(a.place) filter (where a.outcome = 'delivered'), 0) as taken,
        count(*) filter (where a.outcome = 'failed' and (this.failures >= 5 or a.nth - a.attempts_before = 1)
          and a.place > all (select t.place from attempted t where t.outcome = 'delivered')) as failures,
        count(*) filter (where a.outcome = 'failed' and a.place > all (select t.place from attempted t where t.outcome = 'delivered')) as failed,
        max(a.first_at) filter (where a.ends = 'failed') as lost_since, max(a.error) filter (where a.ends = 'failed') as error,
        count(*) filter (where a.ends <> 'waiting') as ended
      into noted from attempted a;
    if noted.taken = 0 then
      -- What is sent together after a rest counts as one, however it is noted.
      noted.failures := case when this.failures < 5 then this.failures + noted.failures
        else this.failures + (noted.failures > 0 and coalesce(this.rests_until <= now, true))::int end;
    end if;
    -- Of one that was turned on or given another address, which ends its rest, those before do not count.
    noted.failed := noted.failed + case when noted.taken = 0 and (this.failed_in_a_row < 5 or this.rests_until is not null) then this.failed_in_a_row else 0 end;
    if noted.taken > 0 and greatest(this.failures, this.failed_in_a_row) >= 5 and (this.succeeded_at is null or this.succeeded_at < now - interval '10 minutes') then
      update public.webhook_deliveries d set next_attempt_at = now
        where d.id = any (array(select w.id from public.webhook_deliveries w
          where w.endpoint_id = this.id and w.state = 'waiting' and w.next_attempt_at > now and w.last_attempt_at < now order by w.next_attempt_at desc limit 1000));
    end if;
    rests := case when noted.tried = 0 then this.rests_until
      when noted.failures >= 5 then now + least(interval '5 seconds' * 2 ^ least(noted.failures - 5, 20), interval '10 minutes')
      when noted.failed >= 5 then now + least(interval '5 seconds' * 2 ^ least(noted.failed - 5, 20), interval '30 seconds') end;
    update public.webhook_endpoints e set
        succeeded_at = case when noted.taken > 0 then now else e.succeeded_at end,
        failures = noted.failures,
        failed_in_a_row = noted.failed,
        is_slow = case when noted.tried > 0 then noted.is_slow else e.is_slow end,
        rests_until = rests,
        claim = case when not lot.is_over then e.claim end, claimed_until = case when not lot.is_over then e.claimed_until end,
        send_at = case when not lot.is_over then e.send_at else (select greatest(n.at, now, rests) from app.next_attempt_of_webhook(e.id) n (at) where n.at is not null) end,
        freed = e.freed + noted.ended,
        queue_at = case when e.freed + noted.ended >= 1000 then least(e.queue_at, now) else e.queue_at end
      where e.id = this.id;
    if noted.taken = 0 and this.state = 'on' and noted.lost_since is not null and (this.succeeded_at is null or this.succeeded_at < noted.lost_since) then
      perform app.switch_webhook_off(this, noted.error);
    end if;
    -- Of the same record nothing is held and due at once, so that what is taken now may overtake what is held.
    if lot.more > 0 and not lot.is_over and greatest(noted.failures, noted.failed) < 5 then
      return query
        select e.id, d.id, d.seq, d.event_id, d.type, d.object_type, d.object_id, d.about_deal, d.occurred_at, d.attempts
        from public.webhook_endpoints e
        cross join (select w.* from public.webhook_deliveries w
          where w.endpoint_id = this.id and w.state = 'waiting' and w.next_attempt_at <= now and w.id <> all (lot.held)
          order by w.next_attempt_at, w.nr limit least(lot.more, 50)) d
        where e.id = this.id and e.state = 'on' and app.is_key_in_force(e.key_id)
        order by d.nr;
    end if;
  end loop;
end
$function$;
GRANT EXECUTE ON FUNCTION app.note_deliveries(jsonb) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.note_documents()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  insert into public.change_events (brokerage_id, about_deal, object_type, object_id, change)
    select n.brokerage_id, n.deal_id, tg_argv[0], n.id, case when n.removed_at is null then 'updated' else 'removed' end
    from changed n join before o on o.id = n.id
    where (o.removed_at is null or n.removed_at is null) and n is distinct from o;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.note_done()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  about uuid;
  person uuid;
begin
  if new.outcome <> 'done' then
    return null;
  end if;
  if new.deal_id is not null and new.action not like 'tool:%' then
    insert into vault.deal_activity as known (deal_id, at, record_id) values (new.deal_id, new.at, new.id)
      on conflict (deal_id) do update set at = excluded.at, record_id = excluded.record_id
        where (known.at, known.record_id) < (excluded.at, excluded.record_id);
    if new.user_id is not null then
      insert into vault.own_activity as known (user_id, deal_id, at, record_id) values (new.user_id, new.deal_id, new.at, new.id)
        on conflict (user_id, deal_id) do update set at = excluded.at, record_id = excluded.record_id
          where (known.at, known.record_id) < (excluded.at, excluded.record_id);
    end if;
  elsif new.action like 'contact.%' then
    return null;
  end if;
  -- Who accepts an invitation by its link has not entered; the owner, who loads data, logs in as themself.
  if session_user = current_user or new.action not in (
    'question.ask', 'question.release', 'question.reject', 'question.answer', 'question.distribute', 'deal.move', 'nda.send', 'nda.sign', 'nda.revoke',
    'document.upload', 'offer.submit', 'offer.accept', 'offer.accept_change', 'offer.decline_change', 'participant.invite', 'invitation.accept', 'participant.remove',
    'deal.open', 'deal.hand_over', 'tokens.issue', 'api_key.create', 'api_key.rotate', 'brokerage.second_factor')
  then
    return null;
  end if;
  about := new.subject_id::uuid;
  case new.action
    when 'question.ask' then perform app.queue_event('question_asked', new.deal_id, 'questions', about, new.user_id, null);
    when 'question.release' then perform app.queue_event('question_released', new.deal_id, 'questions', about, new.user_id, null);
    when 'question.reject' then perform app.queue_event('question_rejected', new.deal_id, 'questions', about, new.user_id, null);
    when 'question.answer' then perform app.queue_event('question_answered', new.deal_id, 'question_answers', about, new.user_id, null);
    when 'question.distribute' then perform app.queue_event('answer_distributed', new.deal_id, 'questions', about, new.user_id, null);
    when 'nda.send' then perform app.queue_event('nda_sent', new.deal_id, 'ndas', about, new.user_id, null);
    when 'nda.sign' then perform app.queue_event('nda_signed', new.deal_id, 'ndas', about, new.user_id, null);
    when 'nda.revoke' then perform app.queue_ended_ndas(array[about], new.user_id);
    when 'document.upload' then
      perform app.queue_event('document_added', new.deal_id,
        case new.details ->> 'source' when 'production' then 'production_documents' else 'documents' end, about, new.user_id, null);
    when 'offer.submit' then
      perform app.queue_event(case when (new.details ->> 'revision')::int <= 1 then 'offer_submitted'
          when exists (select from public.offers o join public.offers a on a.participant_id = o.participant_id
            where o.id = about and a.id = app.accepted_offer(new.deal_id)) then 'change_proposed'
          else 'offer_revised' end,
        new.deal_id, 'offers', about, new.user_id, null);
    when 'offer.accept' then perform app.queue_event('offer_accepted', new.deal_id, 'offers', about, new.user_id, null);
    -- Where nothing was accepted before, as after an exclusivity that was granted without an offer, this decides on an offer.
    when 'offer.accept_change' then
      perform app.queue_event(case when new.details @> '{"first": true}' then 'offer_accepted' else 'change_accepted' end,
        new.deal_id, 'offers', about, new.user_id, null);
    when 'offer.decline_change' then
      perform app.queue_event(case when new.details @> '{"first": true}' then 'offer_declined' else 'change_declined' end,
        new.deal_id, 'offers', about, new.user_id, null);
    when 'deal.move' then
      -- That a deal is under offer is told to nobody who would learn, from not being told, that another one is exclusive.
      if new.details ->> 'to' in ('listed', 'closed', 'withdrawn') then
        perform app.queue_event('deal_' || (new.details ->> 'to'), new.deal_id, 'deals', new.deal_id, new.user_id, null);
      else
        perform app.queue_event('deal_moved', new.deal_id, 'deal_stages', new.deal_id, new.user_id, null);
      end if;
    when 'participant.invite' then perform app.queue_event('invited', new.deal_id, 'participants', about, new.user_id, null);
    when 'invitation.accept' then
      if new.deal_id is not null then
        perform app.queue_event('joined', new.deal_id, 'participants', coalesce(about, (
          select p.id from public.participants p where p.deal_id = new.deal_id and p.user_id = new.user_id)), new.user_id, null);
        perform app.queue_event('outside_broker', new.deal_id, 'participants', p.id, new.user_id, null)
          from public.participants p
          where p.deal_id = new.deal_id and p.user_id = new.user_id and p.role = 'broker'
            and not exists (select from public.deals d join public.members m on m.brokerage_id = d.organization_id
              where d.id = p.deal_id and m.user_id = p.user_id and m.status = 'active');
      end if;
    when 'participant.remove' then
      perform app.queue_event(case when new.details @> '{"left": true}' then 'left' else 'removed' end, new.deal_id, 'participants', about, new.user_id, null);
      -- Whoever was removed can open nothing of the deal any more, and hears no more than that they were. Who had been invited again took no part.
      select p.user_id into person from public.participants p
        where p.id = about and p.joined_at is not null and not new.details @> '{"withdrawn": true}';
      if person is not null then
        perform app.queue_event('removed', null, null, null, new.user_id, person);
      end if;
    when 'deal.open', 'deal.hand_over' then
      if new.action = 'deal.hand_over' then
        perform app.queue_event('broker_changed', new.deal_id, 'participants', about, new.user_id, null);
        select p.user_id into person from public.participants p where p.id = about;
      else
        -- Opened for somebody else, who runs it from the start.
        select p.id, p.user_id into about, person from public.participants p join public.deals d on d.id = p.deal_id
          where p.deal_id = new.deal_id and p.role = 'broker' and p.status = 'active' and p.user_id is distinct from d.created_by;
      end if;
      -- Of several deals at once the broker hears once, and of the brokerage instead of a deal.
      update vault.events e set deal_id = null, subject = null, subject_id = new.brokerage_id
        where e.rank in (1, 2) and e.next_attempt_at = app.now() and e.kind = 'deals_received' and e.person_id = person
          and (e.subject_id = new.brokerage_id or e.deal_id in (select d.id from public.deals d where d.organization_id = new.brokerage_id));
      if not found and person is not null then
        perform app.queue_event('deals_received', new.deal_id, 'participants', about, new.user_id, person);
      end if;
    when 'tokens.issue' then perform app.queue_event('assistant_connected', null, null, new.client_id, new.user_id, new.user_id);
    when 'api_key.create', 'api_key.rotate' then
      perform app.queue_event('api_key_made', null, 'api_keys', about, new.user_id, null);
    when 'brokerage.second_factor' then
      if new.details @> '{"required": true}' then
        perform app.queue_event('factor_required', null, null, about, new.user_id, m.user_id)
          from public.members m where m.brokerage_id = about and m.status = 'active' and not app.has_second_factor(m.user_id);
      end if;
  end case;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.note_factor_required()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.queue_keys_without_factor(array(
    select m.user_id from public.members m where m.brokerage_id = new.id and m.status = 'active'), new.id);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.note_factors_removed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  -- An authenticator that was never confirmed was no factor.
  perform app.queue_keys_without_factor(array(
    select distinct (to_jsonb(r) ->> 'user_id')::uuid from removed r
    where tg_table_name = 'passkeys' or to_jsonb(r) ->> 'confirmed_at' is not null), null);
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.note_job_run(of_job text, succeeded boolean)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
  insert into app.job_runs as j (job, last_run_at, last_success_at, last_failure_at)
    values (of_job, app.now(), case when succeeded then app.now() end, case when not succeeded then app.now() end)
    on conflict (job) do update set last_run_at = excluded.last_run_at,
      last_success_at = coalesce(excluded.last_success_at, j.last_success_at),
      last_failure_at = coalesce(excluded.last_failure_at, j.last_failure_at)
$function$;
GRANT EXECUTE ON FUNCTION app.note_job_run(text,boolean) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.note_joining()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if new.status = 'active' and old.status <> 'active' then
    new.joined_at := app.now();
  elsif new.status = 'active' or (tg_op = 'INSERT' and new.status = 'removed') then
    new.joined_at := coalesce(new.joined_at, app.now());
  elsif new.joined_at is null and new.invited_email is null then
    select u.name, u.email into new.invited_name, new.invited_email from public.users u where u.id = new.user_id;
  end if;
  -- Inviting somebody back tells nobody what they are called now: that takes their answer.
  if new.status = 'active' then
    new.left_name := null;
    new.left_email := null;
  elsif new.status = 'removed' and new.joined_at is not null and (tg_op = 'INSERT' or old.status = 'active') then
    select u.name, u.email into new.left_name, new.left_email from public.users u where u.id = new.user_id;
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.note_new_contact()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  -- Of a key's identity its brokerage; of a person's nothing. It is only held back by it.
  brokerage constant text := split_part(current_setting('dealkeep.identity', true), ',', 4);
begin
  insert into public.change_events (brokerage_id, object_type, object_id, change) values (new.brokerage_id, 'contact', new.id, 'created');
  if brokerage <> '' then
    if exists (select from public.brokerages b where b.id = brokerage::uuid and b.sandbox_of is not null) then
      perform app.check_room_of_sandbox(brokerage::uuid, 'contacts', tg_argv[0]::int, 'contacts', null);
    end if;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.note_node(node uuid, place text, secrets_keys text[])
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
  insert into vault.nodes as n (id, place, secrets_keys, seen_at) values (node, place, secrets_keys, app.now())
    on conflict (id) do update set place = excluded.place, secrets_keys = excluded.secrets_keys, seen_at = excluded.seen_at;
  -- Nodes that were all away note themselves at the same time: none waits for another's row while it holds its own.
  delete from vault.nodes n where n.id in (
    select o.id from vault.nodes o where o.seen_at <= app.now() - interval '1 minute' for update skip locked);
$function$;
GRANT EXECUTE ON FUNCTION app.note_node(uuid,text,text[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.note_renamed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  -- Counted as mails from somebody are, which goes with their account; whoever is erased is not refused.
  if new.name is distinct from old.name and new.id = app.user_id() and new.erased_at is null
    and not app.count_mail('renames from ' || new.id, 'day', 20)
  then
    perform app.refuse_until('too_many_today', 'You have changed your name 20 times today, which is the limit: change it again after %s.',
      date_trunc('day', app.now(), 'UTC') + interval '1 day');
  end if;
  insert into public.change_events (brokerage_id, about_deal, object_type, object_id, change)
    select p.brokerage_id, p.deal_id, 'participant', p.id, 'updated' from public.participants p
    where p.user_id = new.id and p.joined_at is not null and (p.status = 'active' or new.erased_at is not null);
  -- Where they left before this was written down, they are called as until now.
  if new.erased_at is null then
    update public.participants p set left_name = old.name, left_email = old.email
      where p.user_id = new.id and p.status <> 'active' and p.joined_at is not null and p.left_name is null;
    update public.members m set left_name = old.name, left_email = old.email
      where m.user_id = new.id and m.status <> 'active' and m.joined_at is not null and m.left_name is null;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.note_role()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  insert into vault.role_changes (participant_id, deal_id, at) values (new.id, new.deal_id, app.now())
  on conflict (participant_id) do update set at = excluded.at;
  -- What was given to another side by then is unread.
  if coalesce(new.advises, new.id) <> coalesce(old.advises, old.id) then
    delete from public.answer_readings r where r.user_id = new.user_id and r.deal_id = new.deal_id;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.note_uses(digests bytea[], ages double precision[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  -- Who changes a row at this moment is not waited for, and in the order of their ids two nodes do not wait for each other in a circle.
  update vault.sessions s set last_seen_at = u.at
  from (select g.digest, max(app.now() - greatest(g.age, 0) * interval '1 millisecond') as at
    from unnest(digests, ages) g (digest, age) group by g.digest) u
  where s.digest = u.digest and date_trunc('minute', s.last_seen_at) < date_trunc('minute', u.at)
    and s.id in (select l.id from vault.live_sessions v join vault.sessions l on l.id = v.id
      where v.digest = any (digests) order by l.id for no key update of l skip locked);

  update public.api_keys k set last_used_at = u.at
  from (select d.key_id, max(app.now() - greatest(g.age, 0) * interval '1 millisecond') as at
    from unnest(digests, ages) g (digest, age) join vault.api_key_digests d on d.digest = g.digest group by d.key_id) u
  where k.id = u.key_id and (k.last_used_at is null or date_trunc('minute', k.last_used_at) < date_trunc('minute', u.at))
    and k.id in (select l.id from public.api_keys l
      where l.id in (select d.key_id from vault.api_key_digests d where d.digest = any (digests)) order by l.id for no key update skip locked);

  update vault.token_families f set last_used_at = u.at
  from (select t.family_id, max(app.now() - greatest(g.age, 0) * interval '1 millisecond') as at
    from unnest(digests, ages) g (digest, age) join vault.access_tokens t on t.digest = g.digest group by t.family_id) u
  where f.id = u.family_id and (f.last_used_at is null or date_trunc('minute', f.last_used_at) < date_trunc('minute', u.at))
    and f.id in (select l.id from vault.token_families l
      where l.id in (select t.family_id from vault.access_tokens t where t.digest = any (digests)) order by l.id for no key update skip locked);
end
$function$;
GRANT EXECUTE ON FUNCTION app.note_uses(bytea[],double precision[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.notification_choices()
 RETURNS TABLE(kind text, delivery text, standard text, security boolean)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select k.kind, coalesce(c.delivery, k.delivery), k.delivery, k.security
  from app.notification_kinds k
  left join vault.notification_choices c on c.kind = k.kind and c.user_id = app.user_id()
  order by k.place
$function$;
GRANT EXECUTE ON FUNCTION app.notification_choices() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.notification_data(person uuid)
 RETURNS jsonb
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select jsonb_build_object(
    'calendar_link', (select jsonb_build_object('created_at', l.created_at) from vault.calendar_links l where l.user_id = person),
    'reminders', (select coalesce(jsonb_agg(jsonb_build_object('about', s.subject, 'deal_id', s.deal_id, 'sent_at', s.sent_at) order by s.sent_at), '[]')
      from vault.sent_reminders s where s.recipient_id = person or s.sent_by = person),
    'visits', (select coalesce(jsonb_agg(to_jsonb(v) - 'user_id' order by v.began_at), '[]') from vault.visits v where v.user_id = person))
$function$;

CREATE OR REPLACE FUNCTION app.notification_mail(mail uuid)
 RETURNS TABLE(name text, daily boolean, kind text, deal_id uuid, deal_title text, count integer, token text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  sent vault.outbox;
  reader public.users;
  of_day boolean;
  one vault.notifications;
  of_account uuid[];
  others uuid[];
  left_over uuid[] := '{}';
  kinds text[];
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Mails are made by those who deliver them.');
  end if;
  select o.* into sent from vault.outbox o where o.id = mail and o.kind = 'notifications' and o.sent_at is null;
  select u.* into reader from public.users u where u.id = sent.recipient_id and u.suspended_at is null;
  if reader.id is null then
    return;
  end if;
  if reader.email <> sent.recipient then
    -- Who changed the address may be the one whom a notice about security warns of.
    select coalesce(array_agg(n.id order by n.at, n.id) filter (where k.security), '{}'), array_agg(n.id order by n.at, n.id) filter (where not k.security)
      into of_account, others
      from vault.notifications n join app.notification_kinds k on k.kind = n.kind
      where n.id in (select i::uuid from jsonb_array_elements_text(sent.facts -> 'notifications') i) and n.user_id = reader.id;
    if others is not null then
      perform app.queue_mail('notifications', reader.email, reader.id, sent.brokerage_id, sent.deal_id, false,
        sent.facts || jsonb_build_object('notifications', others), null, null);
      update vault.outbox o set facts = o.facts || jsonb_build_object('notifications', of_account) where o.id = mail returning o.* into sent;
    end if;
  end if;
  of_day := (sent.facts ->> 'daily')::boolean;
  for one in
    select n.* from vault.notifications n
    where n.id in (select i::uuid from jsonb_array_elements_text(sent.facts -> 'notifications') i)
      and n.user_id = reader.id
  loop
    -- Whoever has got into the account can also read what warns of it, and choose fewer mails: what was chosen at the time of queueing counts.
    if (select k.security from app.notification_kinds k where k.kind = one.kind)
      or one.read_at is null and app.delivery_of(reader.id, one.kind, one.deal_id) in ('daily', 'at_once') and app.still_holds(one)
        and app.person_could_open(reader.id, one.subject, one.subject_id, one.deal_id)
    then
      left_over := left_over || one.id;
    end if;
  end loop;
  select array_agg(distinct n.kind) into kinds from vault.notifications n where n.id = any (left_over);
  return query
    select reader.name, of_day, n.kind, n.deal_id, d.title, count(*)::int,
      -- Nobody at the address of before chooses for the reader.
      case when reader.email = sent.recipient then app.unsubscribe_token(reader.id, case when of_day then '{daily}' else kinds end) end
    from vault.notifications n
    join app.notification_kinds k on k.kind = n.kind
    left join public.deals d on d.id = n.deal_id
    where n.id = any (left_over)
    group by n.kind, n.deal_id, d.title, k.place
    order by n.deal_id is null, max(max(n.at)) over (partition by n.deal_id) desc, n.deal_id, k.place;
end
$function$;
GRANT EXECUTE ON FUNCTION app.notification_mail(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.notification_settings()
 RETURNS TABLE(time_zone text, digest_hour integer)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select s.time_zone, s.digest_hour from vault.notification_settings s where s.user_id = app.user_id()
$function$;
GRANT EXECUTE ON FUNCTION app.notification_settings() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.notifications_in_sight(after_at timestamp with time zone, after_id uuid, most integer)
 RETURNS TABLE(id uuid, kind text, deal_id uuid, deal_title text, subject_id uuid, at timestamp with time zone, read_at timestamp with time zone, subject_name text, actor_name text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET enable_sort TO 'off'
AS $function$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  administered constant uuid[] := app.brokerages_as('admin');
  one record;
  looked int := 0;
  told int := 0;
begin
  if me is null or app.client_id() is not null or app.narrowed_to() is not null then
    return;
  end if;
  -- Read for all at once; what they may not open, and whom they may not see, is left out.
  for one in
    select n.*,
      case when n.opens then
        case n.subject
          when 'documents' then (select d.filename from public.documents d where d.id = n.subject_id)
          when 'production_documents' then (select d.filename from public.production_documents d where d.id = n.subject_id)
          when 'closing_conditions' then (select c.name from public.closing_conditions c where c.id = n.subject_id)
          when 'findings' then (select f.title from public.findings f where f.id = n.subject_id)
          when 'api_keys' then (select k.name from public.api_keys k where k.id = n.subject_id)
          else (
            select case when p.joined_at is null then p.invited_name else coalesce(p.left_name, u.name) end
            from public.participants p left join public.users u on u.id = p.user_id
            where p.id = case n.subject when 'participants' then n.subject_id
                when 'ndas' then (select a.participant_id from public.ndas a where a.id = n.subject_id) end
              and app.could_open_as('participants', p.id, n.standing, administered)) end end as name,
      case when n.opens then (
        select coalesce(p.left_name, u.name) from public.participants p join public.users u on u.id = p.user_id
        where p.deal_id = n.deal_id and p.user_id = n.actor_id and p.joined_at is not null
          and app.could_open_as('participants', p.id, n.standing, administered)) end as actor
    from (
      select n.*, n.subject is null or n.subject = 'deals' or app.could_open_as(n.subject, n.subject_id, n.standing, administered) as opens
      from (
        select n.id, n.kind, n.deal_id, n.subject, n.subject_id, n.actor_id, n.at, n.read_at, s.title, s.standing
        from vault.notifications n
        left join lateral (
          select o.title, app.standing_of(o.deal_id, o.organization_id, barred, administered, o.participant_id, o.role, o.principal_id, o.side) as standing
          from vault.deals_of_people o where o.user_id = me and o.deal_id = n.deal_id and o.organization_id <> all (barred)
          union all
          -- Of interest to admins who are not on the deal.
          select d.title, app.standing_of(d.id, d.organization_id, barred, administered, null, null, null, null)
          from public.deals d where n.kind = 'outside_broker' and d.id = n.deal_id and d.organization_id = any (administered) limit 1) s on true
        where n.user_id = me and (n.at, n.id) < (coalesce(after_at, 'infinity'), coalesce(after_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
          and (n.deal_id is null or s.standing is not null)
        order by n.at desc, n.id desc limit 400) n
      offset 0) n
  loop
    looked := looked + 1;
    continue when not one.opens;
    id := one.id;
    kind := one.kind;
    deal_id := one.deal_id;
    deal_title := one.title;
    subject_id := one.subject_id;
    at := one.at;
    read_at := one.read_at;
    subject_name := one.name;
    actor_name := one.actor;
    return next;
    told := told + 1;
    exit when told = most;
  end loop;
  -- Hidden as far as was looked: where to go on from.
  if told < most and looked = 400 then
    return query select one.id, null::text, null::uuid, null::text, null::uuid, one.at, null::timestamptz, null::text, null::text;
  end if;
end
$function$;
GRANT EXECUTE ON FUNCTION app.notifications_in_sight(timestamp with time zone,uuid,integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.notify_security_change(person uuid, what text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.count_notice(person), app.queue_security_mail(person, what);
end
$function$;

CREATE OR REPLACE FUNCTION app.now()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE PARALLEL SAFE
RETURN now();
GRANT EXECUTE ON FUNCTION app.now() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.offer_set_up(token bytea)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if exists (select from public.brokerages) then
    return false;
  end if;
  delete from vault.set_up_links l where l.expires_at <= app.now();
  insert into vault.set_up_links (digest) values (token);
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.offer_set_up(bytea) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.offers_in_sight(deal uuid)
 RETURNS TABLE(id uuid, buyer_user_id uuid, revision_number integer, is_current boolean, submitted_at timestamp with time zone, payload text, buyer jsonb, told_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_seqscan TO 'off'
AS $function$
declare
  part constant text[] := string_to_array(app.identity(), ',');
begin
  if coalesce(part[1], '') = '' or part[8] is distinct from deal::text then
    return;
  end if;
  -- Who made an offer stands beside the current one of theirs.
  return query
    select (o.one ->> 0)::uuid, (o.one ->> 1)::uuid, (o.one ->> 2)::integer, (o.one ->> 3)::boolean, (o.one ->> 4)::timestamptz, o.one ->> 5,
      first_value((o.one ->> 6)::jsonb) over (partition by o.one ->> 1 order by (o.one ->> 3)::boolean desc), app.now()
    from json_array_elements(vault.offers_told(deal, part[12], nullif(part[11], '')::uuid)) with ordinality o (one, place)
    order by o.place;
end
$function$;
GRANT EXECUTE ON FUNCTION app.offers_in_sight(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.on_reset(user_id uuid, first_proof boolean)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  client uuid;
  clients int := 0;
  grants int;
  opt_ins int;
  keys int := 0;
  webhooks int := 0;
begin
  delete from public.tool_grants g where g.user_id = on_reset.user_id;
  get diagnostics grants = row_count;
  delete from public.deal_opt_ins o where o.user_id = on_reset.user_id;
  get diagnostics opt_ins = row_count;
  if first_proof then
    for client in
      update public.connected_clients c set deleted_at = app.now()
        where c.created_by = on_reset.user_id and c.deleted_at is null returning c.id
    loop
      perform app.end_grants_of_client(client, null);
      insert into public.audit_records (brokerage_id, user_id, action, subject_id, outcome, details)
        values (app.brokerage_of_grant(on_reset.user_id, client), on_reset.user_id, 'client.delete', client::text, 'done', '{"by": "reset"}');
      clients := clients + 1;
    end loop;
    -- Keys before webhooks and digests, as whoever rotates one locks them.
    perform from public.api_keys k where k.id in (select d.key_id from vault.api_key_digests d where d.issued_by = on_reset.user_id)
      order by k.id for no key update;
    -- While their tokens are in force, which webhooks may have been added with. Also those of keys that others were shown.
    webhooks := app.turn_off_webhooks(on_reset.user_id, null, null);
    update vault.api_key_digests d set valid_until = app.now()
      where d.issued_by = on_reset.user_id and (d.valid_until is null or d.valid_until > app.now());
    with revoked as (
      update public.api_keys k set revoked_at = app.now(), revoked_by = on_reset.user_id
      where k.revoked_at is null
        and exists (select from vault.api_key_digests d where d.key_id = k.id and d.issued_by = on_reset.user_id)
        and not exists (select from vault.api_key_digests d
          where d.key_id = k.id and (d.valid_until is null or d.valid_until > app.now()))
      returning k.id, k.brokerage_id)
    insert into public.audit_records (brokerage_id, user_id, action, subject_id, outcome, details)
      select r.brokerage_id, on_reset.user_id, 'api_key.revoke', r.id::text, 'done', '{"by": "reset"}' from revoked r;
    get diagnostics keys = row_count;
  end if;
  return jsonb_build_object('tool_grants', grants, 'deal_opt_ins', opt_ins, 'clients', clients, 'keys', keys, 'webhooks', webhooks);
end
$function$;

CREATE OR REPLACE FUNCTION app.on_suspension()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if new.suspended_at is not null then
    perform app.end_sessions_of(new.id);
    perform app.queue_event('api_key_stopped', null, 'api_keys', k.id, null, null) from app.keys_held_by(new.id, null) k;
    perform app.turn_off_webhooks(new.id, null, null);
  end if;
  if new.erased_at is null then
    perform app.record(new.id, case when new.suspended_at is null then 'user.restore' else 'user.suspend' end, 'done',
      '{"by": "operator"}', null, null);
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.only_brokerage()
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return app.brokerage_of_grant(app.user_id(), null);
end
$function$;
GRANT EXECUTE ON FUNCTION app.only_brokerage() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.open_deal(organization_id uuid, title text, industry text, location text, summary text, asking_price numeric, currency text, needs_nda boolean DEFAULT NULL::boolean, broker uuid DEFAULT NULL::uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  runs uuid;
  opened uuid;
begin
  if open_deal.organization_id is null or not open_deal.organization_id = any (app.brokerages_as('admin', 'broker')) then
    raise insufficient_privilege using message = 'not an admin or broker of this brokerage';
  end if;
  runs := app.broker_of_new_deal(open_deal.organization_id, app.user_id(), coalesce(open_deal.broker, app.user_id()));
  insert into public.deals (organization_id, title, industry, location, summary, asking_price, currency, needs_nda, created_by, keys_admitted)
    values (open_deal.organization_id, open_deal.title, open_deal.industry, open_deal.location, open_deal.summary,
      open_deal.asking_price, coalesce(open_deal.currency, 'USD'), coalesce(open_deal.needs_nda, true), app.user_id(),
      (select b.admit_keys_by_default from public.brokerages b where b.id = open_deal.organization_id))
    returning id into opened;
  insert into public.participants (deal_id, user_id, role, status) values (opened, runs, 'broker', 'active');
  return opened;
end
$function$;
GRANT EXECUTE ON FUNCTION app.open_deal(uuid,text,text,text,text,numeric,text,boolean,uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.open_deal_with_key(presented bytea, title text, industry text, location text, summary text, asking_price numeric, currency text, needs_nda boolean, broker_email text DEFAULT NULL::text)
 RETURNS SETOF public.deals
 LANGUAGE plpgsql
 SECURITY DEFINER ROWS 1
 SET search_path TO ''
AS $function$
declare
  brokerage constant uuid := app.key_brokerage('deals:write');
  issuer constant uuid := app.issuer_of(presented);
  runs uuid;
  opened public.deals;
begin
  -- An address that nobody has is an id that nobody has.
  runs := app.broker_of_new_deal(brokerage, issuer, case when broker_email is null then issuer
    else coalesce((select u.id from public.users u where u.email = lower(broker_email)), '00000000-0000-0000-0000-000000000000') end);
  insert into public.deals (organization_id, title, industry, location, summary, asking_price, currency, needs_nda, created_by, keys_admitted)
    values (brokerage, open_deal_with_key.title, open_deal_with_key.industry, open_deal_with_key.location, open_deal_with_key.summary,
      open_deal_with_key.asking_price, coalesce(open_deal_with_key.currency, 'USD'), coalesce(open_deal_with_key.needs_nda, true), issuer, true)
    returning * into opened;
  insert into public.participants (deal_id, user_id, role, status) values (opened.id, runs, 'broker', 'active');
  return next opened;
end
$function$;
GRANT EXECUTE ON FUNCTION app.open_deal_with_key(bytea,text,text,text,text,numeric,text,boolean,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.open_deals_alone(of_brokerage uuid, of_member uuid)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return query
    select d.id from public.deals d
    join public.participants own on own.deal_id = d.id and own.user_id = of_member and own.role = 'broker' and own.status = 'active'
    where d.organization_id = of_brokerage and d.state not in ('closed', 'withdrawn')
      and not exists (select from public.participants p
        join public.users u on u.id = p.user_id and u.suspended_at is null
        join public.members m on m.brokerage_id = d.organization_id and m.user_id = p.user_id and m.status = 'active'
        where p.deal_id = d.id and p.user_id <> of_member and p.role = 'broker' and p.status = 'active');
end
$function$;

CREATE OR REPLACE FUNCTION app.open_document(source text, document_id uuid, reads_on boolean)
 RETURNS TABLE(filename text, media_type text, size_bytes bigint, sha256 text, storage_key text, brokerage_id uuid)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
begin
  if app.user_id() is null then
    return;
  end if;
  return query
    with opened as (
      select d.id, d.deal_id, d.filename, d.media_type, d.size_bytes, encode(d.sha256, 'hex') as sha256, d.storage_key
        from public.documents d
        where open_document.source = 'simple' and d.id = open_document.document_id and d.removed_at is null
          and app.may_open(d.deal_id, d.confidentiality)
      union all
      select d.id, d.deal_id, d.filename, d.media_type, d.size_bytes, encode(d.sha256, 'hex'), d.storage_key
        from public.production_documents d
        where open_document.source = 'production' and d.id = open_document.document_id and d.removed_at is null
          and app.may_open(d.deal_id, d.confidentiality)
    ), recorded as (
      insert into public.document_openings (deal_id, document_id, source, user_id)
      select o.deal_id, o.id, open_document.source, app.user_id() from opened o
      where not reads_on or not exists (
        select from public.document_openings earlier
        where earlier.document_id = o.id and earlier.user_id = app.user_id()
          and earlier.opened_at > app.now() - interval '1 hour')
    )
    select o.filename, o.media_type, o.size_bytes, o.sha256, o.storage_key, e.organization_id
    from opened o join public.deals e on e.id = o.deal_id;
end
$function$;
GRANT EXECUTE ON FUNCTION app.open_document(text,uuid,boolean) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.open_document_with_key(document_id uuid, reads_on boolean)
 RETURNS TABLE(filename text, media_type text, size_bytes bigint, sha256 text, storage_key text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  key constant uuid := app.key_id();
  brokerage constant uuid := app.key_brokerage('documents:content');
begin
  if key is null or brokerage is null then
    return;
  end if;
  return query
    with found as (
      select d.id, d.deal_id, 'simple' as source, d.filename, d.media_type, d.size_bytes, encode(d.sha256, 'hex') as sha256, d.storage_key
        from public.documents d where d.id = open_document_with_key.document_id and d.removed_at is null
      union all
      select d.id, d.deal_id, 'production', d.filename, d.media_type, d.size_bytes, encode(d.sha256, 'hex'), d.storage_key
        from public.production_documents d where d.id = open_document_with_key.document_id and d.removed_at is null
    ), opened as (
      select f.* from found f join public.deals e on e.id = f.deal_id where e.organization_id = brokerage and e.keys_admitted
    ), recorded as (
      insert into public.document_openings (deal_id, document_id, source, key_id)
      select o.deal_id, o.id, o.source, key from opened o
      where not reads_on or (reads_on and not exists (
        select from public.document_openings earlier
        where earlier.document_id = o.id and earlier.key_id = key and earlier.opened_at > app.now() - interval '1 hour'))
    )
    select o.filename, o.media_type, o.size_bytes, o.sha256, o.storage_key from opened o;
end
$function$;
GRANT EXECUTE ON FUNCTION app.open_document_with_key(uuid,boolean) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.open_session(owner_id uuid, token bytea, earlier bytea, method text, address inet, agent text, request_id text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  ended int;
begin
  update vault.sessions s set ended_at = app.now() where s.digest = earlier and s.ended_at is null;
  -- Without waiting for anybody: a session that is being written is being used or ended.
  update vault.sessions s set ended_at = app.now()
    where s.ended_at is null and s.id = any (array(
      select f.id from vault.sessions f
      where f.id in (select l.id from vault.live_sessions l where l.user_id = owner_id order by l.last_seen_at desc, l.id desc offset 99)
      for no key update skip locked));
  get diagnostics ended = row_count;
  if ended > 0 then
    perform app.record(owner_id, 'session.end', 'done', jsonb_build_object('sessions', ended), address, request_id);
  end if;
  insert into vault.sessions (user_id, digest, method, address, user_agent, second_factor_at)
    values (owner_id, token, method, address, left(agent, 300),
      case when method in ('code', 'recovery_code', 'passkey') then app.now() end);
  perform app.record(owner_id, 'session.sign_in', 'done', jsonb_build_object('method', method), address,
    request_id);
end
$function$;

CREATE OR REPLACE FUNCTION app.opt_in_deal(deal_id uuid, expires_at timestamp with time zone, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.user_id() is null or app.client_id() is not null or not app.session_goes_on()
    or app.seen_deal(opt_in_deal.deal_id) is null
  then
    return false;
  end if;
  perform from public.members m
    where m.user_id = app.user_id() and m.brokerage_id = (select d.organization_id from public.deals d where d.id = opt_in_deal.deal_id) for share;
  perform from public.participants p
    where p.deal_id = opt_in_deal.deal_id and p.user_id = app.user_id() and p.status <> 'removed' for share;
  -- Admins see the deal without a part in it.
  if not found and not exists (select from public.deals d
    where d.id = opt_in_deal.deal_id and d.organization_id = any (app.brokerages_as('admin')))
  then
    raise insufficient_privilege using message = 'not on this deal';
  end if;
  perform app.check_until(opt_in_deal.expires_at);
  insert into public.deal_opt_ins (user_id, deal_id, expires_at)
    values (app.user_id(), opt_in_deal.deal_id, opt_in_deal.expires_at)
    on conflict on constraint deal_opt_ins_pkey do update set expires_at = excluded.expires_at, opted_in_at = excluded.opted_in_at;
  perform app.audit('deal_opt_in.on', opt_in_deal.deal_id::text, 'done', null, opt_in_deal.deal_id, address, request_id,
    jsonb_build_object('expires_at', expires_at));
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.opt_in_deal(uuid,timestamp with time zone,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.opt_out_deal(deal_id uuid, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.client_id() is not null then
    return false;
  end if;
  delete from public.deal_opt_ins o where o.user_id = app.user_id() and o.deal_id = opt_out_deal.deal_id;
  if not found then
    return false;
  end if;
  perform app.audit('deal_opt_in.off', opt_out_deal.deal_id::text, 'done', null, opt_out_deal.deal_id, address, request_id, '{}');
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.opt_out_deal(uuid,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.opt_out_with_part()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  delete from public.deal_opt_ins o where o.deal_id = new.deal_id and o.user_id = new.user_id;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.or_denied(changed uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO ''
AS $function$
begin
  if changed is null then
    raise insufficient_privilege using message = 'there is no such record that the caller may change';
  end if;
  return changed;
end
$function$;
GRANT EXECUTE ON FUNCTION app.or_denied(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.owes_factor(person uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return exists (select from app.memberships_of(person) m where m.asking <> '{}');
end
$function$;

CREATE OR REPLACE FUNCTION app.own_data(session bytea, address inet, request_id text)
 RETURNS jsonb
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session_with_factor(session) r;
  if not found then
    return null;
  end if;
  perform app.record(this.user_id, 'person.export', 'done', '{"by": "oneself"}', address, request_id);
  return app.person_data(this.user_id, false);
end
$function$;
GRANT EXECUTE ON FUNCTION app.own_data(bytea,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.own_data_kept(person uuid)
 RETURNS TABLE(list text, after timestamp with time zone, left_out bigint)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  source record;
  one record;
  bytes bigint;
begin
  for source in
    select * from (values
      ('notifications', 'vault.notifications t where t.user_id = $1', 'at', false),
      ('questions', 'public.questions t where t.asked_by = $1', 'asked_at', true),
      ('answers', 'public.question_answers t where t.answered_by = $1', 'answered_at', true),
      ('offers', 'public.offers t where t.buyer_user_id = $1', 'submitted_at', true),
      ('ndas', 'public.ndas t join public.participants p on p.id = t.participant_id where p.user_id = $1', 'sent_at', true),
      ('documents', '(select d.uploaded_by, d.uploaded_at from public.documents d
          union all select d.uploaded_by, d.uploaded_at from public.production_documents d) t where t.uploaded_by = $1', 'uploaded_at', false),
      ('document_openings', 'public.document_openings t where t.user_id = $1', 'opened_at', false),
      ('findings', 'public.findings t where t.created_by = $1', 'created_at', true),
      ('finding_comments', 'public.finding_comments t where t.created_by = $1', 'created_at', true),
      ('finding_changes', 'public.finding_changes t where t.changed_by = $1', 'changed_at', true),
      ('normalizations', 'public.normalizations t where t.created_by = $1', 'created_at', true),
      ('accounting_snapshots', 'public.accounting_snapshots t where t.requested_by = $1', 'requested_at', true),
      ('contradiction_answers', 'public.contradiction_answers t where t.answered_by = $1', 'answered_at', true),
      ('financing_sources', 'public.financing_sources t where t.created_by = $1', 'created_at', true),
      ('contacts_created', 'public.contacts t where t.created_by = $1', 'created_at', false),
      ('audit_records', 'public.audit_records t where t.user_id = $1', 'at', false)) s (list, rows, at, has_texts)
  loop
    list := source.list;
    after := null;
    left_out := 0;
    if source.has_texts then
      bytes := 0;
      -- One after the other: no more texts are read than are given.
      for one in execute format('select t.%1$I as at, octet_length(to_json(t)::text) as size from (select t.* from %2$s order by t.%1$I desc offset 0) t',
          source.at, source.rows) using person
      loop
        bytes := bytes + one.size;
        if bytes > 8000000 then
          after := one.at;
          exit;
        end if;
      end loop;
    else
      execute format('select t.%1$I from %2$s order by t.%1$I desc offset 100000 limit 1', source.at, source.rows) into after using person;
    end if;
    if after is null then
      after := '-infinity';
    else
      execute format('select count(*) from %2$s and t.%1$I <= $2', source.at, source.rows) into left_out using person, after;
    end if;
    return next;
  end loop;
end
$function$;

CREATE OR REPLACE FUNCTION app.own_parts(me uuid, barred uuid[], narrowed uuid)
 RETURNS TABLE(deal_id uuid, participant_id uuid, role text, principal_id uuid, side text)
 LANGUAGE sql
 STABLE
BEGIN ATOMIC
 SELECT o.deal_id,
     o.participant_id,
     o.role,
     o.principal_id,
     o.side
    FROM vault.deals_of_people o
   WHERE ((o.user_id = own_parts.me) AND (o.organization_id <> ALL (own_parts.barred)) AND ((own_parts.narrowed IS NULL) OR (o.deal_id = own_parts.narrowed)));
END;

CREATE OR REPLACE FUNCTION app.own_passkeys(session bytea)
 RETURNS TABLE(id uuid, credential_id text, transports text[], name text, created_at timestamp with time zone, last_used_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return query
    select k.id, k.credential_id, k.transports, k.name, k.created_at, k.last_used_at
    from vault.live_sessions l join vault.passkeys k on k.user_id = l.user_id
    where l.digest = session order by k.id;
end
$function$;
GRANT EXECUTE ON FUNCTION app.own_passkeys(bytea) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.own_password_recipe(session bytea, parameters text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (select app.password_recipe(l.email, parameters) from vault.live_sessions l where l.digest = session);
end
$function$;
GRANT EXECUTE ON FUNCTION app.own_password_recipe(bytea,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.own_sessions(session bytea)
 RETURNS TABLE(id uuid, is_this boolean, created_at timestamp with time zone, last_seen_at timestamp with time zone, address inet, user_agent text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return query
    select other.id, other.digest = session, other.created_at, other.last_seen_at, other.address, other.user_agent
    from vault.live_sessions this
    join vault.live_sessions other on other.user_id = this.user_id
    where this.digest = session
    order by other.digest = session desc, other.last_seen_at desc, other.id desc;
end
$function$;
GRANT EXECUTE ON FUNCTION app.own_sessions(bytea) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.participant_link_until(participation uuid)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(
      (select max(i.expires_at) from vault.invitations i
        where i.user_id = p.user_id and i.participant_id = p.id and i.used_at is null), p.updated_at)
    from public.participants p join public.deals d on d.id = p.deal_id
    where p.id = participation and p.status = 'invited'
      and (d.id = any (app.deals_acting_as('broker')) or d.organization_id = any (app.brokerages_as('admin'))));
end
$function$;
GRANT EXECUTE ON FUNCTION app.participant_link_until(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.participant_mail_trouble(participation uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select app.mail_trouble(i.digest) from public.participants p
    join public.deals d on d.id = p.deal_id
    join vault.invitations i on i.user_id = p.user_id and i.participant_id = p.id and i.used_at is null
    where p.id = participation and p.status = 'invited'
      and (d.id = any (app.deals_acting_as('broker')) or d.organization_id = any (app.brokerages_as('admin'))));
end
$function$;
GRANT EXECUTE ON FUNCTION app.participant_mail_trouble(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.participations()
 RETURNS TABLE(deal_id uuid, participant_id uuid, role text, principal_id uuid, principal_role text)
 LANGUAGE sql
 STABLE
BEGIN ATOMIC
 SELECT o.deal_id,
     o.participant_id,
     o.role,
     o.principal_id,
     o.side
    FROM vault.deals_of_people o
   WHERE ((o.user_id = ( SELECT me.user_id
            FROM vault.caller me)) AND ((o.deal_id >= ( SELECT me.first_deal
            FROM vault.caller me)) AND (o.deal_id <= ( SELECT me.last_deal
            FROM vault.caller me))) AND (o.organization_id <> ALL (( SELECT me.barred
            FROM vault.caller me)::uuid[])));
END;

CREATE OR REPLACE FUNCTION app.pass_tool_gate(tool text, deal_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if not app.token_carries('mcp:write') then
    perform app.refuse('missing_scope', 'This client was not given permission to write: connect it again and leave writing checked.');
  elsif not app.tool_granted(tool) then
    perform app.refuse('missing_tool_grant', format('%s is not turned on for this client: turn it on in the settings.', tool));
  elsif deal_id is null or not app.deal_opted_in(deal_id) then
    perform app.refuse('missing_deal_opt_in',
      'Writing through tools is not turned on for this deal, or a broker of it has shut it off: turn it on, on the deal''s page.');
  end if;
end
$function$;
GRANT EXECUTE ON FUNCTION app.pass_tool_gate(text,uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.passkey(credential text)
 RETURNS TABLE(user_id uuid, public_key bytea, counter bigint, transports text[])
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return query select k.user_id, k.public_key, k.counter, k.transports from vault.passkeys k where k.credential_id = credential;
end
$function$;
GRANT EXECUTE ON FUNCTION app.passkey(text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.password_recipe(address_of text, parameters text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return coalesce(
    (select substring(p.phc from '^(.*)\$[^$]*$')
      from vault.passwords p join public.users u on u.id = p.user_id where u.email = lower(address_of)),
    (select parameters || '$' || rtrim(encode(substring(sha256(
        convert_to('salt ' || lower(address_of), 'UTF8') || s.secret) from 1 for 16), 'base64'), '=')
      from vault.seal s));
end
$function$;
GRANT EXECUTE ON FUNCTION app.password_recipe(text,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.payload_size(payload jsonb)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO ''
AS $function$ select octet_length(payload::text) $function$;
GRANT EXECUTE ON FUNCTION app.payload_size(jsonb) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.pending_secret(session bytea)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (select (select t.secret from vault.totp t where t.user_id = r.user_id and t.confirmed_at is null)
    from app.recent_session(session) r);
end
$function$;
GRANT EXECUTE ON FUNCTION app.pending_secret(bytea) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.people_on_deal(deal uuid)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_seqscan TO 'off'
AS $function$
declare
  identity constant text := app.identity();
  -- In a request about this deal alone, what the reader is on it has been found already.
  knows_all boolean := split_part(identity, ',', 8) = deal::text and split_part(identity, ',', 12) in ('broker', 'seller', 'viewer');
  principals uuid[];
  is_buyer boolean := false;
  knows_seller boolean := false;
begin
  if coalesce(split_part(identity, ',', 1), '') = '' then
    return null;
  end if;
  if not knows_all then
    knows_all := deal = any (app.deals_as('broker', 'seller', 'viewer'))
      or coalesce((select d.organization_id from public.deals d where d.id = deal) = any (app.brokerages_as('admin')), false);
  end if;
  if not knows_all then
    principals := app.principals();
    is_buyer := deal = any (app.deals_as('buyer'));
    knows_seller := is_buyer and deal = any (app.deals_with_known_seller());
  end if;
  -- One table after the other, each by its index, however few rows there are.
  return (
    select jsonb_object_agg(u.id, jsonb_build_array(u.id, coalesce(p.left_name, u.name), p.role, p.advises))
    from (select k.user_id, k.role, k.left_name,
        case when k.role = 'advisor' then (select a.role from public.participants a where a.id = k.advises) end as advises
      from public.participants k
      where k.deal_id = deal and k.joined_at is not null
        and (knows_all or coalesce(k.advises, k.id) = any (principals)
          or k.status = 'active' and (k.role = 'broker' and is_buyer or k.role = 'seller' and knows_seller)) offset 0) p
    cross join lateral (select k.id, k.name from public.users k where k.id = p.user_id offset 0) u);
end
$function$;
GRANT EXECUTE ON FUNCTION app.people_on_deal(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.person_acts(person uuid, whole boolean)
 RETURNS jsonb
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select jsonb_build_object(
    -- By the address, which may not be theirs alone: themselves they have those of their brokerages, whose members see them.
    'contacts', (select coalesce(jsonb_agg(c.contact order by c.contact ->> 'id'), '[]')
      from (select e.contact from public.users u cross join lateral jsonb_array_elements(app.contact_data(u.email)) e (contact)
        where u.id = person and u.sandbox_id is null) c
      where whole or (c.contact ->> 'brokerage_id')::uuid = any (seen.joined)),
    'exclusivities', (select coalesce(jsonb_agg(jsonb_build_object('id', x.id, 'deal_id', x.deal_id, 'granted_at', x.granted_at)
          || case when whole or x.participant_id = any (seen.principals) then jsonb_build_object('expires_at', x.expires_at, 'ended_at', x.ended_at) else '{}' end
        order by x.id), '[]')
      from public.exclusivities x where x.buyer_user_id = person),
    'exclusivities_granted', (select coalesce(jsonb_agg(jsonb_build_object('id', x.id, 'deal_id', x.deal_id, 'granted_at', x.granted_at) order by x.id), '[]')
      from public.exclusivities x where x.granted_by = person),
    'conditions_owned', (select coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'deal_id', c.deal_id) order by c.id), '[]')
      from public.closing_conditions c where c.owner_user_id = person
        and (whole or c.deal_id = any (seen.taken_part))),
    'findings_owned', (select coalesce(jsonb_agg(jsonb_build_object('id', f.id, 'deal_id', f.deal_id) order by f.id), '[]')
      from public.findings f where f.owner_user_id = person
        and (whole or f.deal_id = any (seen.run) or f.participant_id = any (seen.principals))),
    'ndas_sent', (select coalesce(jsonb_agg(jsonb_build_object('id', n.id, 'deal_id', n.deal_id, 'sent_at', n.sent_at) order by n.id), '[]')
      from public.ndas n where n.sent_by = person),
    'qoe_places_given', (select coalesce(jsonb_agg(jsonb_build_object('deal_id', m.deal_id, 'added_at', m.added_at) order by m.added_at), '[]')
      from public.qoe_workspace_members m where m.added_by = person),
    'answers_read', (select coalesce(jsonb_agg(jsonb_build_object('deal_id', r.deal_id, 'read_until', r.read_until) order by r.deal_id), '[]')
      from public.answer_readings r where r.user_id = person),
    'api_keys_revoked', (select coalesce(jsonb_agg(jsonb_build_object('id', k.id, 'brokerage_id', k.brokerage_id, 'revoked_at', k.revoked_at) order by k.id), '[]')
      from public.api_keys k where k.revoked_by = person),
    'api_keys_shown', (select coalesce(jsonb_agg(jsonb_build_object('id', d.key_id, 'brokerage_id', d.brokerage_id, 'issued_at', d.issued_at) order by d.issued_at), '[]')
      from vault.api_key_digests d where d.issued_by = person),
    'webhooks_added', (select coalesce(jsonb_agg(jsonb_build_object('id', e.id, 'brokerage_id', e.brokerage_id, 'created_at', e.created_at)
          || case when whole or e.brokerage_id = any (seen.administered) then jsonb_build_object('url', e.url, 'description', e.description) else '{}' end
        order by e.id), '[]')
      from public.webhook_endpoints e where e.created_by = person),
    'tools_stopped', (select coalesce(jsonb_agg(jsonb_build_object('deal_id', s.deal_id, 'stopped_at', s.stopped_at) order by s.stopped_at), '[]')
      from public.deal_tool_stops s where s.stopped_by = person),
    'brokerage_deletions_requested', (select coalesce(jsonb_agg(jsonb_build_object('brokerage_id', d.brokerage_id, 'asked_at', d.asked_at) order by d.asked_at), '[]')
      from vault.brokerage_deletions d where d.asked_by = person))
  from (select app.deals_as('broker', 'seller') as run, app.deals_as('broker', 'seller', 'buyer', 'viewer') as taken_part, app.principals() as principals, app.brokerages_as('admin') as administered,
    app.brokerages_as('admin', 'broker', 'staff') as joined offset 0) seen
$function$;

CREATE OR REPLACE FUNCTION app.person_could_open(person uuid, of_table text, record uuid, deal uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  return exists (select from app.who_could_open(array[person], of_table, record, deal));
end
$function$;

CREATE OR REPLACE FUNCTION app.person_data(person uuid, whole boolean)
 RETURNS jsonb
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select app.person_records(person, whole) || app.notification_data(person) || app.person_acts(person, whole)
$function$;

CREATE OR REPLACE FUNCTION app.person_in_sight(person uuid, deal uuid)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  narrowed constant uuid := app.narrowed_to();
  whole constant text := app.whole_identity();
  identity constant text := current_setting('dealkeep.identity', true);
  seal constant text := current_setting('dealkeep.seal', true);
  part uuid;
  found text;
begin
  if app.user_id() is null or (narrowed is not null and narrowed <> deal) then
    return null;
  end if;
  select p.id, coalesce(p.left_name, u.name) into part, found from public.participants p join public.users u on u.id = p.user_id
    where p.deal_id = deal and p.user_id = person and p.joined_at is not null;
  if part is null then
    return null;
  end if;
  if narrowed is null then
    perform app.seal(whole || ',' || app.standing(app.user_id(), app.barred_in(whole), app.brokerages_as('admin'), deal));
  end if;
  if not app.could_open('participants', part, deal) then
    found := null;
  end if;
  if narrowed is null then
    perform set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', seal, true);
  end if;
  return found;
end
$function$;
GRANT EXECUTE ON FUNCTION app.person_in_sight(uuid,uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.person_records(person uuid, whole boolean)
 RETURNS jsonb
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  with kept as materialized (select k.* from app.own_data_kept(person) k)
  select jsonb_build_object(
    'account', (select jsonb_build_object('id', u.id, 'email', u.email, 'name', u.name, 'suspended_at', u.suspended_at,
        'erased_at', u.erased_at, 'created_at', u.created_at, 'updated_at', u.updated_at,
        'password_changed_at', (select p.changed_at from vault.passwords p where p.user_id = u.id),
        'authenticator_since', (select t.confirmed_at from vault.totp t where t.user_id = u.id),
        'recovery_codes_left', (select count(*) from vault.recovery_codes r where r.user_id = u.id and r.used_at is null))
      from public.users u where u.id = person),
    'sessions', (select coalesce(jsonb_agg(jsonb_build_object('id', s.id, 'method', s.method, 'created_at', s.created_at,
        'last_seen_at', s.last_seen_at, 'ended_at', s.ended_at, 'address', host(s.address), 'user_agent', s.user_agent) order by s.id), '[]')
      from vault.sessions s where s.user_id = person),
    'known_devices', (select coalesce(jsonb_agg(jsonb_build_object('used_at', k.used_at) order by k.used_at), '[]')
      from vault.known_devices k where k.user_id = person),
    'passkeys', (select coalesce(jsonb_agg(jsonb_build_object('id', k.id, 'name', k.name, 'created_at', k.created_at,
        'last_used_at', k.last_used_at) order by k.id), '[]')
      from vault.passkeys k where k.user_id = person),
    'address_changes', (select coalesce(jsonb_agg(jsonb_build_object('new_email', a.new_email, 'expires_at', a.expires_at)), '[]')
      from vault.address_changes a where a.user_id = person),
    'clients', (select coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'created_at', c.created_at)
          || case when whole or c.brokerage_id is null or c.brokerage_id = any (seen.joined)
            then jsonb_build_object('name', c.name, 'redirect_uris', c.redirect_uris, 'metadata_url', c.metadata_url, 'disabled', c.disabled,
              'deleted_at', c.deleted_at) else '{}' end
        order by c.id), '[]')
      from public.connected_clients c where c.created_by = person),
    'grants', (select coalesce(jsonb_agg(jsonb_build_object('client_id', f.client_id, 'scopes', f.scopes, 'consented_at', f.consented_at,
        'ends_at', f.ends_at, 'revoked_at', f.revoked_at, 'last_used_at', f.last_used_at) order by f.id), '[]')
      from vault.token_families f where f.user_id = person),
    'tool_grants', (select coalesce(jsonb_agg(to_jsonb(g) - 'user_id' order by g.client_id, g.tool), '[]')
      from public.tool_grants g where g.user_id = person),
    'deals_for_assistants', (select coalesce(jsonb_agg(to_jsonb(o) - 'user_id' order by o.deal_id), '[]')
      from public.deal_opt_ins o where o.user_id = person),
    'api_keys', (select coalesce(jsonb_agg(case when whole or k.brokerage_id = any (seen.administered) then to_jsonb(k) - 'revoked_by'
        else jsonb_build_object('id', k.id, 'brokerage_id', k.brokerage_id, 'created_at', k.created_at) end order by k.id), '[]')
      from public.api_keys k where k.created_by = person),
    'memberships', (select coalesce(jsonb_agg(jsonb_build_object('brokerage', b.name, 'joined_at', m.joined_at, 'created_at', m.created_at)
          || case when whole or m.status <> 'invited' or not app.address_in_doubt(b.id)
            then jsonb_build_object('role', m.role, 'status', m.status, 'invited_name', m.invited_name, 'invited_email', m.invited_email) else '{}' end
        order by b.id), '[]')
      from public.members m join public.brokerages b on b.id = m.brokerage_id
      where m.user_id = person and (whole or m.joined_at is not null)),
    'participations', (select coalesce(jsonb_agg(to_jsonb(p) - '{user_id,person_id,advises}'::text[]
          - case when whole or p.status <> 'invited' or not app.address_in_doubt(p.brokerage_id) then '{}'::text[]
            else '{role,status,invited_name,invited_email,updated_at}' end
        order by p.id), '[]')
      from public.participants p where p.user_id = person and (whole or p.joined_at is not null)),
    'notification_settings', (select to_jsonb(s) - 'user_id' from vault.notification_settings s where s.user_id = person),
    'notification_choices', (select coalesce(jsonb_agg(to_jsonb(s) - 'user_id' order by s.kind), '[]')
      from vault.notification_choices s where s.user_id = person),
    'deal_notification_choices', (select coalesce(jsonb_agg(to_jsonb(s) - 'user_id' order by s.deal_id), '[]')
      from vault.deal_notification_choices s where s.user_id = person),
    'notifications', (select coalesce(jsonb_agg(jsonb_build_object('kind', n.kind, 'deal_id', n.deal_id, 'at', n.at, 'read_at', n.read_at,
        'mailed_at', n.mailed_at) order by n.at), '[]')
      from vault.notifications n where n.user_id = person and n.at > (select k.after from kept k where k.list = 'notifications')),
    'mails', (select coalesce(jsonb_agg(jsonb_build_object('kind', o.kind, 'recipient', o.recipient, 'created_at', o.created_at,
        'sent_at', o.sent_at) order by o.id), '[]')
      from vault.outbox o where o.recipient_id = person and (whole or (o.brokerage_id is null and o.deal_id is null))),
    'questions', (select coalesce(jsonb_agg(jsonb_build_object('id', q.id, 'deal_id', q.deal_id, 'category', q.category,
        'question_text', q.question_text, 'asked_at', q.asked_at)
          || case when whole or q.participant_id in (select unnest(seen.principals)) or q.deal_id in (select unnest(seen.brokered))
              or (q.status in ('with_seller', 'answered', 'distributed') and q.deal_id in (select unnest(seen.run)))
            then jsonb_build_object('status', q.status) else '{}' end
        order by q.id), '[]')
      from public.questions q where q.asked_by = person and q.asked_at > (select k.after from kept k where k.list = 'questions')),
    'answers', (select coalesce(jsonb_agg(case when whole or a.deal_id = any (seen.run) then to_jsonb(a) - 'answered_by'
        else jsonb_build_object('question_id', a.question_id, 'deal_id', a.deal_id, 'answered_at', a.answered_at) end order by a.answered_at), '[]')
      from public.question_answers a where a.answered_by = person and a.answered_at > (select k.after from kept k where k.list = 'answers')),
    'offers', (select coalesce(jsonb_agg(to_jsonb(o) - 'buyer_user_id' order by o.id), '[]')
      from public.offers o where o.buyer_user_id = person and o.submitted_at > (select k.after from kept k where k.list = 'offers')),
    'decisions_on_offers', (select coalesce(jsonb_agg(jsonb_build_object('offer_id', o.offer_id, 'deal_id', o.deal_id, 'decision', o.decision,
        'decided_at', o.decided_at) order by o.decided_at), '[]')
      from public.offer_decisions o where o.decided_by = person),
    'ndas', (select coalesce(jsonb_agg(jsonb_build_object('id', n.id, 'deal_id', n.deal_id, 'terms', n.terms, 'sent_at', n.sent_at,
        'signed_at', n.signed_at, 'signed_name', n.signed_name, 'signed_address', host(n.signed_address), 'expires_at', n.expires_at)
          || case when n.shown then jsonb_build_object('status', n.status, 'revoked_at', n.revoked_at) else '{}' end
        order by n.id), '[]')
      from (select l.*, whole or l.participant_id in (select unnest(seen.principals)) or l.deal_id in (select unnest(seen.run)) as shown
        from public.ndas l join public.participants p on p.id = l.participant_id
        where p.user_id = person and l.sent_at > (select k.after from kept k where k.list = 'ndas')) n
      where n.shown or n.signed_at is not null),
    'documents', (select coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'deal_id', d.deal_id, 'size_bytes', d.size_bytes, 'media_type', d.media_type,
        'uploaded_at', d.uploaded_at) || case when whole or d.deal_id = any (seen.run)
          then jsonb_build_object('filename', d.filename, 'category', d.category, 'removed_at', d.removed_at) else '{}' end order by d.id), '[]')
      from (select id, deal_id, filename, category, size_bytes, media_type, uploaded_at, removed_at, uploaded_by from public.documents
        union all select id, deal_id, filename, category, size_bytes, media_type, uploaded_at, removed_at, uploaded_by
          from public.production_documents) d
      where d.uploaded_by = person and d.uploaded_at > (select k.after from kept k where k.list = 'documents')),
    'document_openings', (select coalesce(jsonb_agg(jsonb_build_object('document_id', o.document_id, 'deal_id', o.deal_id,
        'opened_at', o.opened_at) order by o.opened_at), '[]')
      from public.document_openings o where o.user_id = person and o.opened_at > (select k.after from kept k where k.list = 'document_openings')),
    'findings', (select coalesce(jsonb_agg(jsonb_build_object('id', f.id, 'deal_id', f.deal_id, 'created_at', f.created_at)
          || case when whole or f.deal_id = any (seen.run) or f.participant_id = any (seen.principals)
            then jsonb_build_object('category', f.category, 'title', f.title, 'description', f.description, 'severity', f.severity) else '{}' end
        order by f.id), '[]')
      from public.findings f where f.created_by = person and f.created_at > (select k.after from kept k where k.list = 'findings')),
    'finding_comments', (select coalesce(jsonb_agg(to_jsonb(c) - 'created_by' order by c.id), '[]')
      from public.finding_comments c where c.created_by = person and c.created_at > (select k.after from kept k where k.list = 'finding_comments')),
    'finding_changes', (select coalesce(jsonb_agg(to_jsonb(c) - 'changed_by' order by c.id), '[]')
      from public.finding_changes c where c.changed_by = person and c.changed_at > (select k.after from kept k where k.list = 'finding_changes')),
    'normalizations', (select coalesce(jsonb_agg(to_jsonb(n) - 'created_by' order by n.id), '[]')
      from public.normalizations n where n.created_by = person and n.created_at > (select k.after from kept k where k.list = 'normalizations')),
    'accounting_snapshots', (select coalesce(jsonb_agg(case when whole or s.deal_id in (select unnest(seen.worked)) then to_jsonb(s) - 'requested_by'
        else jsonb_build_object('id', s.id, 'deal_id', s.deal_id, 'snapshot_type', s.snapshot_type, 'source_name', s.source_name,
          'account_lines', s.account_lines, 'requested_at', s.requested_at) end order by s.id), '[]')
      from public.accounting_snapshots s where s.requested_by = person and s.requested_at > (select k.after from kept k where k.list = 'accounting_snapshots')),
    'contradiction_answers', (select coalesce(jsonb_agg(case when whole or a.deal_id = any (seen.run) then to_jsonb(a) - 'answered_by' - 'released_by'
        else jsonb_build_object('id', a.id, 'deal_id', a.deal_id, 'answered_at', a.answered_at) end order by a.id), '[]')
      from public.contradiction_answers a where a.answered_by = person and a.answered_at > (select k.after from kept k where k.list = 'contradiction_answers')),
    'contradictions_released', (select coalesce(jsonb_agg(jsonb_build_object('deal_id', a.deal_id, 'contradiction', a.contradiction,
        'released_at', a.released_at) order by a.id), '[]')
      from public.contradiction_answers a where a.released_by = person),
    'financing_sources', (select coalesce(jsonb_agg(
          case when whole or s.deal_id = any (seen.run) or s.participant_id = any (seen.principals) then to_jsonb(s) - 'created_by'
            else jsonb_build_object('id', s.id, 'deal_id', s.deal_id, 'created_at', s.created_at) end order by s.id), '[]')
      from public.financing_sources s where s.created_by = person and s.created_at > (select k.after from kept k where k.list = 'financing_sources')),
    'deals_opened', (select coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'created_at', d.created_at) order by d.id), '[]')
      from public.deals d where d.created_by = person),
    'contacts_created', (select coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'brokerage_id', c.brokerage_id, 'created_at', c.created_at) order by c.id), '[]')
      from public.contacts c where c.created_by = person and c.created_at > (select k.after from kept k where k.list = 'contacts_created')),
    'audit_records', (select coalesce(jsonb_agg(jsonb_build_object('at', a.at, 'action', a.action, 'outcome', a.outcome, 'deal_id', a.deal_id,
        'subject_id', a.subject_id, 'client_id', a.client_id, 'address', host(a.address), 'request_id', a.request_id, 'details', a.details)
        order by a.at, a.id), '[]')
      from public.audit_records a where a.user_id = person and a.at > (select k.after from kept k where k.list = 'audit_records')),
    'left_out', (select coalesce(jsonb_object_agg(k.list, k.left_out) filter (where k.left_out > 0), '{}') from kept k)
  )
  -- What others may have changed since is told of what the person sees now.
  from (select app.deals_as('broker', 'seller') as run, app.deals_as('broker') as brokered, app.principals() as principals, app.brokerages_as('admin') as administered,
    app.brokerages_as('admin', 'broker', 'staff') as joined, app.qoe_deals(false) as worked offset 0) seen
  where exists (select from public.users u where u.id = person)
$function$;

CREATE OR REPLACE FUNCTION app.pipeline(most integer)
 RETURNS TABLE(part text, id uuid, title text, asking_price numeric, currency text, deals integer, priced integer)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_nestloop TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
declare
  run uuid[];
begin
  if app.user_id() is null then
    return;
  end if;
  run := app.deals_acting_as('broker');
  return query
    with mine as materialized (
      select d.id, d.title, d.asking_price, d.currency from public.deals d
      where d.id = any (run) and d.state not in ('closed', 'withdrawn'))
    (select 'total', null::uuid, null::text, sum(m.asking_price), m.currency, count(*)::int, count(m.asking_price)::int
      from mine m group by m.currency order by count(*) desc, m.currency limit 20)
    union all
    (select 'deal', m.id, m.title, m.asking_price, m.currency, null, null
      from mine m order by m.asking_price desc nulls last, m.id limit least(greatest(most, 0), 50));
end $function$;
GRANT EXECUTE ON FUNCTION app.pipeline(integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.pl_periods_of(deal uuid, from_day date, to_day date, most integer)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(json_agg(json_build_array(p.snapshot_id, p.period_label, p.period_start_date, p.period_end_date, p.currency,
      trim_scale(p.revenue)::text, trim_scale(p.cost_of_goods_sold)::text, trim_scale(p.gross_profit)::text, trim_scale(p.operating_expenses)::text,
      trim_scale(p.owner_compensation)::text, trim_scale(p.depreciation_amortization)::text, trim_scale(p.interest_expense)::text,
      trim_scale(p.tax_expense)::text, trim_scale(p.net_income)::text, trim_scale(p.ebitda)::text)), '[]')::text
    from (
      select k.* from public.pl_periods k
      where k.deal_id = deal and (from_day is null or k.period_start_date >= from_day) and (to_day is null or k.period_end_date <= to_day)
      order by k.period_start_date desc, k.id desc limit most) p);
end
$function$;
GRANT EXECUTE ON FUNCTION app.pl_periods_of(uuid,date,date,integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.principals()
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  identity constant text := app.identity();
  principal constant text := split_part(identity, ',', 11);
begin
  if split_part(identity, ',', 8) <> '' then
    return case when principal = '' or split_part(identity, ',', 12) = 'viewer' then '{}' else array[principal::uuid] end;
  end if;
  return (select coalesce(array_agg(p.principal_id), '{}') from app.participations() p where p.principal_role <> 'viewer');
end
$function$;
GRANT EXECUTE ON FUNCTION app.principals() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.protect(protected regclass)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  execute format('alter table %s enable row level security', protected);
  execute format('alter table %s force row level security', protected);
  execute format('create policy as_owner on %s to current_user using (true) with check (true)', protected);
end
$function$;

CREATE OR REPLACE FUNCTION app.publish_changes(OUT moved boolean, OUT waits boolean)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  stream vault.change_stream;
  here text;
  is_fresh boolean;
  last bigint;
  told bigint;
  waiting bigint;
  below xid8;
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Changes are published by the worker.');
  end if;
  moved := false;
  waits := false;
  select s.* into stream from vault.change_stream s;
  select case when o.is_called then o.last_value else o.last_value - 1 end into last from vault.change_order o;
  if stream.mark is null and stream.published = last and stream.origin is not null then
    return;
  end if;
  here := concat_ws('/', (select c.system_identifier from pg_catalog.pg_control_system() c),
    (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database()));
  -- In a restored database, the transaction ids of the one before mean nothing.
  is_fresh := stream.origin is distinct from here;
  told := least(stream.published, last);
  if stream.mark is not null and not is_fresh then
    if app.none_under_way(stream.mark_xid) then
      told := stream.mark;
    else
      waiting := stream.mark;
      below := stream.mark_xid;
    end if;
  end if;
  if waiting is null and last > told then
    -- After the sequence was read, so that it is above that of whoever took a number.
    below := pg_current_xact_id();
    if app.none_under_way(below) then
      told := last;
    else
      waiting := last;
    end if;
  end if;
  waits := waiting is not null;
  if is_fresh or told <> stream.published or waiting is distinct from stream.mark then
    update vault.change_stream s
      set published = told, mark = waiting, mark_xid = case when waits then below end,
        mark_at = case when waits then coalesce(case when waiting = stream.mark then stream.mark_at end, app.now()) end,
        origin = here, history = case when is_fresh and stream.origin is not null then gen_random_uuid() else s.history end
      where s.published = stream.published and s.mark is not distinct from stream.mark and s.origin is not distinct from stream.origin;
    moved := found and told > stream.published;
  end if;
end
$function$;
GRANT EXECUTE ON FUNCTION app.publish_changes() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.purge_authorization()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  now constant timestamptz := app.now();
  over uuid[];
  part int;
begin
  delete from vault.authorization_codes c where c.digest in (
    select o.digest from vault.authorization_codes o
    where o.expires_at <= now and (o.used_at is null or o.expires_at <= now - interval '1 day')
    order by o.expires_at limit 10000 for update skip locked);
  get diagnostics part = row_count;
  if part >= 10000 then
    return part;
  end if;
  delete from vault.access_tokens t where t.digest in (
    select o.digest from vault.access_tokens o where o.expires_at <= now order by o.expires_at limit 10000 for update skip locked);
  get diagnostics part = row_count;
  if part >= 10000 then
    return part;
  end if;
  -- A client that somebody deleted has nothing left to do: what they called it and where it ran goes a month later. One by its document has only what the document says.
  update public.connected_clients c set name = 'Deleted client', redirect_uris = '{}' where c.id = any (array(
    select o.id from public.connected_clients o
    where o.deleted_at is not null and o.brokerage_id is null and o.metadata_url is null and o.redirect_uris <> '{}' and o.deleted_at <= now - interval '30 days'
    order by o.deleted_at limit 10000 for update skip locked));
  get diagnostics part = row_count;
  if part >= 10000 then
    return part;
  end if;
  -- What a node was about to forget when it was stopped.
  perform app.forget_answers(60000);
  -- Each by its index.
  over := array(
    (select f.id from vault.token_families f where f.ends_at <= now order by f.ends_at limit 10000)
    union
    (select f.id from vault.token_families f where f.revoked_at <= now - interval '1 day' order by f.revoked_at limit 10000));
  -- Used ones are kept until here, since one that comes again ends its family: there may be many.
  delete from vault.refresh_tokens t where t.ctid = any (array(
    select o.ctid from unnest(over) f (id)
      cross join lateral (select r.ctid from vault.refresh_tokens r where r.family_id = f.id limit 10000) o limit 10000));
  get diagnostics part = row_count;
  if part >= 10000 then
    return part;
  end if;
  delete from vault.token_families f
    where f.id = any (over) and (select true from vault.refresh_tokens t where t.family_id = f.id limit 1) is null;
  get diagnostics part = row_count;
  return part;
end
$function$;
GRANT EXECUTE ON FUNCTION app.purge_authorization() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.purge_changes()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  before constant timestamptz := app.now() - interval '31 days';
  of_brokerage uuid;
  reached uuid;
  seen int := 0;
  purged int := 0;
  part int;
begin
  select p.place into reached from vault.job_places p where p.job = 'purge_changes' for update skip locked;
  if not found then
    return 0;
  end if;
  for of_brokerage in
    select b.id from public.brokerages b where b.id > coalesce(reached, '00000000-0000-0000-0000-000000000000') order by b.id limit 1000
  loop
    seen := seen + 1;
    if (select f.at from public.change_events f where f.brokerage_id = of_brokerage order by f.seq limit 1) < before then
      with gone as (
        delete from public.change_events e
          where e.brokerage_id = of_brokerage and e.at < before
            and e.seq <= (select max(o.seq) from (
              select f.seq from public.change_events f where f.brokerage_id = of_brokerage order by f.seq limit 100000) o)
          returning e.seq),
      noted as (
        insert into vault.purged_changes as p (brokerage_id, seq) select of_brokerage, max(g.seq) from gone g having count(*) > 0
          on conflict (brokerage_id) do update set seq = greatest(p.seq, excluded.seq))
      select count(*) into part from gone;
      purged := purged + part;
    end if;
    reached := of_brokerage;
    exit when purged >= 200000;
  end loop;
  update vault.job_places p set place = case when seen = 1000 and purged < 200000 then reached end where p.job = 'purge_changes';
  return purged;
end
$function$;
GRANT EXECUTE ON FUNCTION app.purge_changes() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.purge_idempotency_keys()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  purged int;
  purged_of_tools int;
begin
  delete from vault.idempotency_keys k using (
    select o.key_id, o.idempotency_key from vault.idempotency_keys o
    where o.made_at <= app.now() - interval '24 hours' order by o.made_at limit 10000 for update skip locked) o
  where k.key_id = o.key_id and k.idempotency_key = o.idempotency_key;
  get diagnostics purged = row_count;
  delete from vault.tool_call_keys k using (
    select o.user_id, o.client_id, o.tool, o.idempotency_key from vault.tool_call_keys o
    where o.made_at <= app.now() - interval '24 hours' order by o.made_at limit 10000 for update skip locked) o
  where k.user_id = o.user_id and k.client_id = o.client_id and k.tool = o.tool and k.idempotency_key = o.idempotency_key;
  get diagnostics purged_of_tools = row_count;
  return purged + purged_of_tools;
end
$function$;
GRANT EXECUTE ON FUNCTION app.purge_idempotency_keys() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.purge_mails()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  purged int;
begin
  delete from vault.outbox o where o.id in (
    select m.id from vault.outbox m
    where coalesce(m.sent_at, m.given_up_at) < app.now() - interval '30 days'
      and (m.sent_at is not null or m.given_up_at < app.now() - interval '90 days')
    order by coalesce(m.sent_at, m.given_up_at) limit 10000 for update skip locked);
  get diagnostics purged = row_count;
  return purged;
end
$function$;
GRANT EXECUTE ON FUNCTION app.purge_mails() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.purge_notifications()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  purged int;
begin
  delete from vault.visits v where v.ctid = any (array(
    select o.ctid from vault.visits o where o.began_at < app.now() - interval '180 days' order by o.began_at limit 10000));
  delete from vault.sent_reminders s where s.ctid = any (array(
    select o.ctid from vault.sent_reminders o where o.sent_at < app.now() - interval '2 days' order by o.sent_at limit 10000));
  delete from vault.notifications n where n.id in (
    select o.id from vault.notifications o where o.at < app.now() - interval '180 days' order by o.at limit 10000);
  get diagnostics purged = row_count;
  return purged;
end
$function$;
GRANT EXECUTE ON FUNCTION app.purge_notifications() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.purge_sign_in()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  part int;
  place uuid;
  reach uuid;
  lately uuid[];
  oldest timestamptz;
begin
  select p.place into place from vault.job_places p where p.job = 'purge_sign_in' for update skip locked;
  if found then
    place := coalesce(place, '00000000-0000-0000-0000-000000000000');
    reach := (select s.id from vault.sessions s where s.id > place order by s.id offset 4999 limit 1);
    delete from vault.sessions s
      where s.id > place and s.id <= coalesce(reach, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
        and (s.ended_at < app.now() - interval '1 day' or s.created_at < app.now() - interval '31 days' or s.last_seen_at < app.now() - interval '2 days');
    update vault.job_places p set place = reach where p.job = 'purge_sign_in';
    -- A request of theirs that was under way while they were erased may have written after it.
    lately := array(select u.id from public.users u where u.erased_at > app.now() - interval '1 hour' order by u.erased_at desc limit 10000);
    perform app.clear_traces(lately, app.now() - interval '2 hours');
    perform app.clear_addresses_of_keys(lately, 10000);
  end if;
  delete from vault.sign_in_steps s where s.ctid = any (array(
    select o.ctid from vault.sign_in_steps o where o.expires_at <= app.now() limit 10000 for update skip locked));
  get diagnostics part = row_count;
  if part >= 10000 then
    return part;
  end if;
  delete from vault.known_devices k where k.ctid = any (array(
    select o.ctid from vault.known_devices o where o.used_at <= app.now() - interval '180 days' order by o.used_at limit 10000 for update skip locked));
  get diagnostics part = row_count;
  if part >= 10000 then
    return part;
  end if;
  delete from vault.challenges c where c.ctid = any (array(
    select o.ctid from vault.challenges o where o.expires_at <= app.now() order by o.expires_at limit 10000 for update skip locked));
  get diagnostics part = row_count;
  if part >= 10000 then
    return part;
  end if;
  delete from vault.password_resets r where r.ctid = any (array(
    select o.ctid from vault.password_resets o where o.expires_at <= app.now() limit 10000 for update skip locked));
  get diagnostics part = row_count;
  if part >= 10000 then
    return part;
  end if;
  delete from vault.address_changes a where a.ctid = any (array(
    select o.ctid from vault.address_changes o where o.expires_at <= app.now() limit 10000 for update skip locked));
  get diagnostics part = row_count;
  if part >= 10000 then
    return part;
  end if;
  delete from vault.set_up_links l where l.ctid = any (array(
    select o.ctid from vault.set_up_links o where o.expires_at <= app.now() limit 10000 for update skip locked));
  get diagnostics part = row_count;
  if part >= 10000 then
    return part;
  end if;
  delete from vault.mail_counts m where m.ctid = any (array(
    select o.ctid from vault.mail_counts o where o.since < app.now() - interval '2 days' order by o.since limit 10000 for update skip locked));
  get diagnostics part = row_count;
  if part >= 10000 then
    return part;
  end if;
  -- Of failed sign-ins, and of whatever else nobody is known to have done.
  oldest := (
    select a.at from public.audit_records a where a.user_id is null and a.brokerage_id is null and a.address is not null order by a.at offset 9999 limit 1);
  update public.audit_records a set address = null
    where a.user_id is null and a.brokerage_id is null and a.address is not null and a.at < app.now() - interval '30 days' and a.at <= coalesce(oldest, 'infinity');
  get diagnostics part = row_count;
  if part >= 10000 then
    return part;
  end if;
  delete from vault.invitations i where i.ctid = any (array(
    select o.ctid from vault.invitations o where o.expires_at < app.now() - interval '30 days' limit 10000 for update skip locked));
  get diagnostics part = row_count;
  perform app.forget_withdrawn(1000);
  return part;
end
$function$;
GRANT EXECUTE ON FUNCTION app.purge_sign_in() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.purge_webhooks()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  most constant int := 10000;
  old uuid[];
  held jsonb;
  purged int;
  removed uuid;
begin
  delete from vault.webhook_secrets s where s.ends_at <= app.now();
  old := array(select o.id from public.webhook_deliveries o where o.created_at < app.now() - interval '30 days'
    order by o.created_at limit most for update skip locked);
  select jsonb_agg(distinct jsonb_build_object('endpoint', d.endpoint_id, 'object', d.object_id)) into held
    from public.webhook_deliveries d where d.id = any (old) and d.state = 'waiting';
  delete from public.webhook_deliveries d where d.id = any (old);
  update public.webhook_deliveries d set next_attempt_at = app.now()
    from jsonb_to_recordset(held) as h (endpoint uuid, object uuid)
    where d.next_attempt_at is null and d.id = (select n.id from public.webhook_deliveries n
      where n.endpoint_id = h.endpoint and n.object_id = h.object and n.state = 'waiting' order by n.nr limit 1);
  purged := cardinality(old);
  for removed in select e.id from public.webhook_endpoints e where e.removed_at is not null order by e.removed_at for update skip locked loop
    exit when purged >= most;
    purged := purged + app.delete_deliveries(removed, most - purged);
    if purged < most then
      delete from public.webhook_endpoints e where e.id = removed;
    end if;
  end loop;
  return purged;
end
$function$;
GRANT EXECUTE ON FUNCTION app.purge_webhooks() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.qoe_deals(editing boolean)
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  identity constant text := app.identity();
  deal constant text := split_part(identity, ',', 8);
begin
  if identity like ',%' then
    return case when editing then '{}' else app.deals_as('qoe:read') end;
  elsif deal <> '' and split_part(identity, ',', 12) in ('broker', 'seller')
      and (not editing or split_part(identity, ',', 10) in ('broker', 'seller')) then
    return array[deal::uuid];
  end if;
  return (
    select coalesce(array_agg(p.deal_id), '{}')
    from app.participations() p
    where (p.principal_role in ('broker', 'seller') and (not editing or p.role in ('broker', 'seller')))
      or (exists (
            select from public.qoe_workspace_members w
            where w.deal_id = p.deal_id
              and case when editing then w.participant_id = p.participant_id and w.role = 'editor'
                else w.participant_id in (p.participant_id, p.principal_id) end)
          and (p.principal_role <> 'buyer' or exists (
            select from vault.active_ndas n where n.participant_id = p.principal_id))));
end $function$;
GRANT EXECUTE ON FUNCTION app.qoe_deals(boolean) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.queue_admission()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.has_caller() then
    perform app.queue_event('workspace_admitted', new.deal_id, 'deals', new.deal_id, app.user_id(), p.user_id)
      from public.participants p where p.id = new.participant_id;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.queue_assignment()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.has_caller() and new.owner_user_id is not null then
    perform app.queue_event(tg_argv[0], new.deal_id, tg_table_name, new.id, app.user_id(), new.owner_user_id);
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.queue_changed_exclusivity()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.has_caller() then
    perform app.queue_event('exclusivity_changed', new.deal_id, tg_table_name, new.id, app.user_id(), null);
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.queue_ended_ndas(ended uuid[], actor uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform app.queue_event('nda_ended', n.deal_id, 'ndas', n.id, actor, null)
    from public.ndas n
    join public.participants p on p.id = n.participant_id and p.status = 'active' and p.role = 'buyer'
    where n.id = any (ended) and n.signed_at is not null and app.actual_state(n.deal_id) not in ('closed', 'withdrawn');
end
$function$;

CREATE OR REPLACE FUNCTION app.queue_event(kind text, deal uuid, subject text, subject_id uuid, actor uuid, person uuid, opened_from text DEFAULT NULL::text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if app.is_sandbox((select d.organization_id from public.deals d where d.id = deal)) then
    return;
  end if;
  insert into vault.events (kind, deal_id, subject, subject_id, actor_id, person_id, opened_from, rank)
    values (kind, deal, subject, subject_id, actor, person, opened_from,
      case when (select k.security from app.notification_kinds k where k.kind = queue_event.kind) then 0 when actor is not null then 1 else 2 end);
  perform pg_notify('dealkeep_mail', '');
end
$function$;

CREATE OR REPLACE FUNCTION app.queue_exclusivity()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_op = 'UPDATE' then
    if new.ended_at = new.expires_at then
      -- What is no longer watched was told at its date (app.sweep).
      if exists (select from vault.lapsing_exclusivities l where l.exclusivity_id = new.id) then
        perform app.queue_event('exclusivity_lapsed', new.deal_id, 'exclusivities', new.id, null, null);
      end if;
    elsif app.identity() is not null and app.actual_state(new.deal_id) <> 'withdrawn' then
      perform app.queue_event('exclusivity_lapsed', new.deal_id, 'exclusivities', new.id, app.user_id(), null);
    end if;
  elsif app.user_id() is not null then
    perform app.queue_event('exclusivity_granted', new.deal_id, 'exclusivities', new.id, app.user_id(), null);
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.queue_keys_without_factor(people uuid[], in_brokerage uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform app.queue_event('api_key_stopped', null, 'api_keys', k.id, null, null)
    from public.members m
    join public.brokerages b on b.id = m.brokerage_id and b.requires_second_factor
    join public.users u on u.id = m.user_id and u.suspended_at is null and u.erased_at is null
    cross join lateral app.keys_held_by(m.user_id, m.brokerage_id) k
    where m.user_id = any (people) and (in_brokerage is null or m.brokerage_id = in_brokerage) and m.status = 'active'
      and not app.has_second_factor(m.user_id)
      and not exists (select from vault.events e
        where e.rank = 0 and e.next_attempt_at = app.now() and e.kind = 'api_key_stopped' and e.subject_id = k.id);
end
$function$;

CREATE OR REPLACE FUNCTION app.queue_mail(kind text, recipient text, recipient_id uuid, brokerage uuid, deal uuid, urgent boolean, facts jsonb, secret text, link bytea)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  -- The brokerage in whose name it is sent, or of its deal.
  sender constant uuid := coalesce(queue_mail.brokerage, (select d.organization_id from public.deals d where d.id = queue_mail.deal));
  mail_rank constant int := case when urgent then 0 when kind = 'notifications' and facts ->> 'daily' = 'true' then 2 else 1 end;
  queued uuid;
begin
  if recipient is null or lower(recipient) like '%.sandbox.invalid'
    or app.is_sandbox(coalesce((select d.organization_id from public.deals d where d.id = queue_mail.deal), queue_mail.brokerage))
  then
    return null;
  end if;
  insert into vault.outbox (kind, recipient, recipient_id, brokerage_id, deal_id, caused_by, urgent, facts, secret, link, rank, turn_at)
    values (queue_mail.kind, lower(queue_mail.recipient),
      coalesce(queue_mail.recipient_id, (select u.id from public.users u where u.email = lower(queue_mail.recipient))),
      sender, queue_mail.deal, app.user_id(), queue_mail.urgent, coalesce(queue_mail.facts, '{}'), queue_mail.secret, queue_mail.link,
      mail_rank, greatest(app.now(), app.last_turn(sender, mail_rank) + interval '1 second'))
    returning id into queued;
  perform pg_notify('dealkeep_mail', '');
  return queued;
end
$function$;
GRANT EXECUTE ON FUNCTION app.queue_mail(text,text,uuid,uuid,uuid,boolean,jsonb,text,bytea) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.queue_moved_deadline()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.has_caller() and app.is_deadline_near('condition_due', tg_table_name, new.id, new.deal_id) then
    perform app.queue_event('condition_due', new.deal_id, tg_table_name, new.id, app.user_id(), null);
  elsif app.has_caller() and app.is_deadline_near('condition_overdue', tg_table_name, new.id, new.deal_id) then
    perform app.queue_event('condition_overdue', new.deal_id, tg_table_name, new.id, app.user_id(), null);
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.queue_notification_mails(most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  -- A statement that runs into its limit takes back what it has written, and would be given the same again.
  until constant timestamptz := statement_timestamp() + nullif(current_setting('statement_timeout')::interval, '0') / 4;
  due record;
  ids uuid[];
  actors uuid[];
  is_by_clock boolean;
  reader_has_enough boolean;
  actor uuid;
  written int := 0;
  goes_on boolean := false;
  -- Each is looked at again when the mail is made, in one statement.
  most_of_mail constant int := 1000;
  next_hour constant timestamptz := date_trunc('hour', app.now(), 'UTC') + interval '1 hour';
begin
  -- One node at a time: two would count mails by the same people in different orders, and wait for each other.
  if not pg_try_advisory_xact_lock(hashtextextended('notification mails', 0)) then
    return 0;
  end if;
  for due in
    -- Mails about an account never wait: not behind those about deals either.
    select n.user_id, n.mail, case when n.mail = 'at_once' then n.deal_id end as deal_id,
      sum(count(*)) over () >= 2000 or count(*) over () > least(most, 200) as are_more
    from (
      (select a.user_id, a.mail, a.deal_id, a.mail_due_at, true as first from vault.notifications a
        where a.mail_due_at <= app.now() and a.mail = 'at_once' and a.deal_id is null order by a.mail_due_at limit 2000)
      union all
      (select d.user_id, d.mail, d.deal_id, d.mail_due_at, false from vault.notifications d
        where d.mail_due_at <= app.now() and (d.mail = 'daily' or d.deal_id is not null) order by d.mail_due_at limit 2000)) n
    group by 1, 2, 3, n.first order by n.first desc, min(n.mail_due_at) limit least(most, 200)
  loop
    goes_on := goes_on or due.are_more or written > 0 and clock_timestamp() > until;
    exit when written > 0 and clock_timestamp() > until;
    execute format('select array_agg(d.id), array_agg(distinct d.actor_id) filter (where d.actor_id is not null), coalesce(bool_or(d.actor_id is null), false)
        from (
          select o.id, o.actor_id from vault.notifications o
          where o.user_id = $1 and o.mail = $2 and o.mail_due_at <= app.now() and %s
          order by o.mail_due_at limit $4) d',
        case when due.mail = 'daily' then 'true' when due.deal_id is null then 'o.deal_id is null' else 'o.deal_id = $3' end)
      into ids, actors, is_by_clock using due.user_id, due.mail, due.deal_id, most_of_mail;
    continue when ids is null;
    goes_on := goes_on or cardinality(ids) = most_of_mail;
    if due.mail = 'at_once' and due.deal_id is not null then
      reader_has_enough := app.mails_this_hour('news to ' || due.user_id) >= 30;
      if reader_has_enough or not (is_by_clock or exists (select from unnest(actors) a where app.mails_this_hour('news by ' || a) < 300)) then
        -- With whatever else is due of the same, or it would be looked at again and again within the hour.
        update vault.notifications n set mail_due_at = next_hour
          where n.id in (
            select o.id from vault.notifications o
            where o.user_id = due.user_id and o.mail = 'at_once' and o.deal_id is not null and o.mail_due_at <= app.now()
              and (reader_has_enough or o.deal_id = due.deal_id and o.actor_id = any (actors))
            order by o.mail_due_at limit 2000);
        written := written + 1;
        continue;
      end if;
      perform app.count_mail('news to ' || due.user_id, 'hour', 30);
      foreach actor in array coalesce(actors, '{}') loop
        perform app.count_mail('news by ' || actor, 'hour', 300);
      end loop;
    end if;
    update vault.notifications n set mail_due_at = null, mailed_at = app.now() where n.id = any (ids);
    -- The rest comes with the next daily mail, or in the next hour, rather than in mails of the same minute that say the same, except what concerns the account.
    if cardinality(ids) = most_of_mail then
      update vault.notifications n set mail_due_at = case due.mail when 'daily' then app.next_digest(due.user_id) else next_hour end
        where n.id = any (array(select o.id from vault.notifications o
          where o.user_id = due.user_id and o.mail = due.mail and o.mail_due_at <= app.now() and o.deal_id is not null
            and (due.mail = 'daily' or o.deal_id = due.deal_id)
          order by o.mail_due_at limit 20000));
    end if;
    select array_agg(n.id order by n.at, n.id) into ids from vault.notifications n where n.id = any (ids);
    perform app.queue_mail('notifications', u.email, u.id,
        (select min(d.organization_id::text)::uuid from vault.notifications n join public.deals d on d.id = n.deal_id
          where n.id = any (ids) having count(distinct d.organization_id) = 1),
        due.deal_id, due.mail = 'at_once' and due.deal_id is null, jsonb_build_object('daily', due.mail = 'daily', 'notifications', ids), null, null)
      from public.users u where u.id = due.user_id and u.suspended_at is null;
    written := written + 1;
  end loop;
  return case when goes_on then most else written end;
end
$function$;
GRANT EXECUTE ON FUNCTION app.queue_notification_mails(integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.queue_opened_document()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  -- One that waits is told to everybody who may open it by then.
  if app.has_caller() and app.is_wider(new.confidentiality, new.confidentiality_before) and not exists (select from vault.events e
    where e.deal_id = new.deal_id and e.kind = 'document_added' and e.subject = tg_table_name and e.subject_id = new.id)
  then
    perform app.queue_event('document_added', new.deal_id, tg_table_name, new.id, app.user_id(), null, new.confidentiality_before);
  end if;
  return null;
end $function$;

CREATE OR REPLACE FUNCTION app.queue_reminders()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  due vault.reminders;
  done int := 0;
begin
  for due in
    delete from vault.reminders r using (
      select d.ctid from vault.reminders d where d.remind_at <= app.now() order by d.remind_at limit 500 for update skip locked) found
    where r.ctid = found.ctid returning r.*
  loop
    done := done + 1;
    if app.is_deadline_near(due.kind, due.subject, due.subject_id, due.deal_id) then
      perform app.queue_event(due.kind, due.deal_id, due.subject, due.subject_id, null, null);
    end if;
  end loop;
  return done;
end
$function$;
GRANT EXECUTE ON FUNCTION app.queue_reminders() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.queue_security_mail(person uuid, what text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.queue_mail('security_change', u.email, u.id, null, null, true,
      jsonb_build_object('name', u.name, 'what', what), null, null)
    from public.users u where u.id = person;
end
$function$;

CREATE OR REPLACE FUNCTION app.queue_status(of_brokerage uuid)
 RETURNS TABLE(mails_waiting integer, mails_failing integer, mails_given_up integer, oldest_mail_at timestamp with time zone, events_waiting integer, events_failing integer, oldest_event_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return;
  end if;
  return query
    select m.waiting, m.failing, m.given_up, m.oldest, e.waiting, e.failing, e.oldest
    from (
      select count(*) filter (where u.given_up_at is null)::int as waiting,
        count(*) filter (where u.given_up_at is null and u.last_error is not null)::int as failing,
        count(*) filter (where u.given_up_at is not null)::int as given_up,
        min(u.created_at) filter (where u.given_up_at is null) as oldest
      from (
        select o.given_up_at, o.last_error, o.created_at from vault.outbox o
        where o.brokerage_id = of_brokerage and o.sent_at is null and (o.link is null or app.is_live_link(o.link))
        order by o.created_at desc limit 1000) u) m
    cross join (
      select count(*)::int as waiting, count(*) filter (where w.last_error is not null)::int as failing, min(w.at) as oldest
      from (
        -- The oldest that wait of all brokerages, as app.service_state counts them: the deal of each has to be looked up.
        select v.last_error, v.at
        from (select q.deal_id, q.last_error, q.at from vault.events q order by q.id limit 10000) v join public.deals d on d.id = v.deal_id
        where d.organization_id = of_brokerage order by v.at desc limit 1000) w) e;
end
$function$;
GRANT EXECUTE ON FUNCTION app.queue_status(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.queue_webhooks()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  next record;
  events jsonb;
  reached bigint;
begin
  -- Those that are marked are let go before one is taken: it may be waited for.
  if app.mark_changed_webhooks() then
    return 0;
  end if;
  select n.endpoint, n.place, n.types into next from app.enter_for_next_webhook() n;
  if next.endpoint is null then
    return null;
  end if;
  if next.place is null then
    return 0;
  end if;
  select coalesce(jsonb_agg(jsonb_build_object('seq', c.seq, 'event_id', c.id, 'type', c.type, 'object_type', c.object_type, 'object_id', c.object_id,
      'about_deal', c.deal_id, 'occurred_at', c.at) order by c.seq) filter (where c.id is not null), '[]'), max(c.seq)
    into events, reached from app.changes_after(next.place, 500, next.types) c;
  perform app.go_on_with_webhook(next.endpoint, events, reached);
  return reached - next.place;
end
$function$;
GRANT EXECUTE ON FUNCTION app.queue_webhooks() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.reach_of_look(after bigint, rows integer, last bigint)
 RETURNS bigint
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return coalesce((select e.seq from public.change_events e where e.brokerage_id = app.identity_part(4)::uuid and e.seq > after and e.seq <= last
    order by e.seq offset greatest(rows, 1) - 1 limit 1), last);
end
$function$;
GRANT EXECUTE ON FUNCTION app.reach_of_look(bigint,integer,bigint) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.read_notifications(ids uuid[], until timestamp with time zone DEFAULT NULL::timestamp with time zone)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  marked int;
begin
  update vault.notifications n set read_at = app.now()
    where n.user_id = app.user_id() and app.client_id() is null and n.read_at is null and n.id = any (coalesce(ids, array(
      select l.id from vault.notifications l
        where l.user_id = app.user_id() and l.read_at is null and l.at <= coalesce(until, app.now())
        order by l.at desc, l.id desc limit 10000)));
  get diagnostics marked = row_count;
  return marked;
end
$function$;
GRANT EXECUTE ON FUNCTION app.read_notifications(uuid[],timestamp with time zone) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.read_notifications_of(deal uuid, kinds text[])
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  marked int;
begin
  if app.user_id() is null or app.client_id() is not null then
    return 0;
  end if;
  update vault.notifications n set read_at = app.now()
    where n.read_at is null and n.id = any (array(
      select l.id from (
        select u.id, u.deal_id, u.kind from vault.notifications u
        where u.user_id = app.user_id() and u.read_at is null order by u.at desc, u.id desc limit 1000) l
      where l.deal_id = read_notifications_of.deal and l.kind = any (kinds)
        and not exists (select from app.notification_kinds k where k.kind = l.kind and k.security)));
  get diagnostics marked = row_count;
  return marked;
end
$function$;
GRANT EXECUTE ON FUNCTION app.read_notifications_of(uuid,text[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.recent_session(session bytea)
 RETURNS SETOF vault.live_sessions
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  live vault.live_sessions;
begin
  select l.* into live from vault.live_sessions l where l.digest = session;
  if not found then
    return;
  end if;
  if live.authenticated_at <= app.now() - interval '10 minutes' then
    perform app.refuse('recent_sign_in_required', 'Confirm that it is you: sign in again, then repeat this.');
  end if;
  return next live;
end
$function$;

CREATE OR REPLACE FUNCTION app.recent_session_with_factor(session bytea)
 RETURNS SETOF vault.live_sessions
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  live vault.live_sessions;
begin
  select r.* into live from app.recent_session(session) r;
  if not found then
    return;
  end if;
  if live.second_factor_at is null and app.has_second_factor(live.user_id)
    and exists (select from app.memberships_of(live.user_id) m where m.asking <> '{}')
  then
    perform app.refuse_without_factor(live.user_id);
  end if;
  return next live;
end
$function$;

CREATE OR REPLACE FUNCTION app.recently_signed_in()
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (
    select from vault.sessions s
    where s.id = app.identity_part(6)::uuid and s.ended_at is null and s.authenticated_at > app.now() - interval '10 minutes');
end
$function$;

CREATE OR REPLACE FUNCTION app.recipient_known_as(mail uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select nullif(coalesce(p.left_email, m.left_email), o.recipient) from vault.outbox o
    join vault.invitations i on i.digest = o.link
    left join public.participants p on p.id = i.participant_id
    left join public.members m on m.brokerage_id = i.brokerage_id and m.user_id = i.user_id
    where o.id = mail and o.brokerage_id = any (app.brokerages_as('admin')));
end
$function$;
GRANT EXECUTE ON FUNCTION app.recipient_known_as(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.record(user_id uuid, action text, outcome text, details jsonb, address inet, request_id text)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
  insert into public.audit_records (user_id, action, outcome, details, address, request_id, noted)
  values (record.user_id, record.action, record.outcome, coalesce(record.details, '{}'), record.address, record.request_id, record.outcome = 'done')
$function$;

CREATE OR REPLACE FUNCTION app.record_finding_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_op = 'INSERT' then
    insert into public.finding_changes (finding_id, to_status, notes, changed_by)
      values (new.id, new.status, new.status_notes, app.user_id());
  elsif (new.status, new.status_notes) is distinct from (old.status, old.status_notes) then
    insert into public.finding_changes (finding_id, from_status, to_status, notes, changed_by)
      values (new.id, old.status, new.status, new.status_notes, app.user_id());
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.recovery_codes_left(session bytea)
 RETURNS integer
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (select count(*) from vault.live_sessions l
    join vault.recovery_codes c on c.user_id = l.user_id and c.used_at is null where l.digest = session);
end
$function$;
GRANT EXECUTE ON FUNCTION app.recovery_codes_left(bytea) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.redeem_code(client_id uuid, code bytea, redirect_uri text, presented_challenge text, resource text, access_token bytea, refresh_token bytea, address inet, request_id text, OUT outcome text, OUT scopes text[])
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  kept vault.authorization_codes;
  verified boolean;
begin
  outcome := 'invalid_client';
  -- Before the code, as those do who are waited for.
  perform app.hold_client(a.client_id, a.user_id) from vault.authorization_codes a where a.digest = code;
  if not app.client_lives(client_id) then
    return;
  end if;
  outcome := 'invalid_grant';
  select c.* into kept from vault.authorization_codes c where c.digest = code for no key update;
  if not found or kept.client_id <> redeem_code.client_id or kept.redirect_uri is distinct from redeem_code.redirect_uri then
    return;
  end if;
  -- Digests of both sides are compared, so that the time it takes tells nothing about either.
  verified := sha256(code || convert_to(presented_challenge, 'UTF8')) = sha256(code || convert_to(kept.challenge, 'UTF8'));
  if kept.used_at is not null then
    if verified and kept.family_id is not null then
      update vault.token_families f set revoked_at = app.now() where f.id = kept.family_id and f.revoked_at is null;
      if found then
        perform app.audit_family(kept.user_id, kept.client_id, kept.family_id, 'code.replay', 'revoked', address, request_id, '{}');
      end if;
    end if;
    return;
  end if;
  if kept.burned_at is not null or kept.expires_at <= app.now() then
    return;
  end if;
  if coalesce(resource, kept.resource) <> kept.resource then
    outcome := 'invalid_target';
    return;
  end if;
  if not verified then
    update vault.authorization_codes c set burned_at = app.now() where c.digest = code;
    perform app.audit_family(kept.user_id, kept.client_id, null, 'code.burn', 'refused', address, request_id, '{}');
    return;
  end if;
  -- Or the consent came while its redirect URI was taken away.
  if not app.client_takes(kept.client_id, kept.user_id, kept.redirect_uri) then
    return;
  end if;
  -- Or a brokerage of theirs has come to ask for a second factor since.
  if not kept.factor_shown and app.owes_factor(kept.user_id) then
    return;
  end if;
  insert into vault.token_families (user_id, client_id, scopes, resource, consented_at, ends_at, factor_shown)
    values (kept.user_id, kept.client_id, kept.scopes, kept.resource, kept.issued_at, kept.issued_at + interval '180 days', kept.factor_shown)
    returning id into kept.family_id;
  update vault.authorization_codes c set used_at = app.now(), family_id = kept.family_id where c.digest = code;
  perform app.issue_tokens(kept.family_id, kept.scopes, access_token, refresh_token);
  perform app.audit_family(kept.user_id, kept.client_id, kept.family_id, 'tokens.issue', 'done', address, request_id,
    jsonb_build_object('scopes', kept.scopes));
  outcome := 'issued';
  scopes := kept.scopes;
end
$function$;
GRANT EXECUTE ON FUNCTION app.redeem_code(uuid,bytea,text,text,text,bytea,bytea,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.redeliver(endpoint uuid, delivery uuid, since timestamp with time zone, until timestamp with time zone, failed_only boolean, address inet, request_id text)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if delivery is null then
    return (select r.written from app.redeliver_period(endpoint, since, until, failed_only, address, request_id) r);
  end if;
  return app.write_deliveries_again(app.webhook_to_manage(endpoint), array[delivery], address, request_id);
end
$function$;
GRANT EXECUTE ON FUNCTION app.redeliver(uuid,uuid,timestamp with time zone,timestamp with time zone,boolean,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.redeliver_period(endpoint uuid, since timestamp with time zone, until timestamp with time zone, failed_only boolean, address inet, request_id text, OUT written integer, OUT next_since timestamp with time zone)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_custom_plan'
AS $function$
declare
  this constant public.webhook_endpoints := app.webhook_to_manage(endpoint);
  ended uuid[];
begin
  if failed_only then
    ended := array(select d.id from public.webhook_deliveries d
      where d.endpoint_id = this.id and d.state = 'failed' and d.created_at >= since and d.created_at < until order by d.created_at, d.nr limit 10001);
  else
    ended := array(select d.id from public.webhook_deliveries d
      where d.endpoint_id = this.id and d.state <> 'waiting' and d.created_at >= since and d.created_at < until order by d.created_at, d.nr limit 10001);
  end if;
  if cardinality(ended) > 10000 then
    next_since := (select d.created_at from public.webhook_deliveries d where d.id = ended[10001]);
    if next_since > (select d.created_at from public.webhook_deliveries d where d.id = ended[1]) then
      ended := array(select d.id from public.webhook_deliveries d where d.id = any (ended) and d.created_at < next_since);
    else
      ended := array(select d.id from public.webhook_deliveries d
        where d.endpoint_id = this.id and d.state <> 'waiting' and d.created_at = next_since and (not failed_only or d.state = 'failed'));
      next_since := next_since + interval '1 millisecond';
    end if;
  end if;
  written := app.write_deliveries_again(this, ended, address, request_id);
  if written = 0 then
    perform app.audit('webhook.redeliver', this.id::text, 'done', this.brokerage_id, null, address, request_id, jsonb_build_object('deliveries', 0));
  end if;
end
$function$;
GRANT EXECUTE ON FUNCTION app.redeliver_period(uuid,timestamp with time zone,timestamp with time zone,boolean,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.redirect_uri_allowed(uri text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO ''
AS $function$
  select length(uri) <= 1000
    and uri !~ '[^!-~]' and uri !~ '[\\#*<>"`{}|^]' and position('..' in uri) = 0
    and uri ~ '^(https://([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])|http://(localhost|127\.0\.0\.1|\[::1\]))(:[1-9][0-9]{0,4})?([/?]|$)'
$function$;
GRANT EXECUTE ON FUNCTION app.redirect_uri_allowed(text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.redirect_uri_matches(registered text[], presented text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO ''
AS $function$
  select presented = any (registered)
    or regexp_replace(presented, '^(http://(?:localhost|127\.0\.0\.1|\[::1\])):[1-9][0-9]{0,4}(?=[/?]|$)', '\1') = any (registered)
$function$;

CREATE OR REPLACE FUNCTION app.redirect_uris_allowed(uris text[])
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO ''
AS $function$
  select array_ndims(uris) = 1 and cardinality(uris) <= 20
    and (select bool_and(coalesce(app.redirect_uri_allowed(uri), false)) from unnest(uris) uri)
$function$;
GRANT EXECUTE ON FUNCTION app.redirect_uris_allowed(text[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.refresh_tokens(client_id uuid, presented bytea, wanted text[], resource text, began double precision, overlap double precision, access_token bytea, refresh_token bytea, sealed bytea, address inet, request_id text, OUT outcome text, OUT scopes text[], OUT answer bytea, OUT expires_in integer)
 RETURNS record
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  family vault.token_families;
  token vault.refresh_tokens;
  overlapping boolean;
  left_of_family int;
  today constant date := (app.now() at time zone 'UTC')::date;
  apart constant interval := make_interval(secs => overlap / 1000);
begin
  outcome := 'invalid_client';
  if not app.client_lives(client_id) then
    return;
  end if;
  outcome := 'invalid_grant';
  -- The lock first, the token after it: whoever waited sees what the one before has done.
  select f.* into family from vault.token_families f
    where f.id = (select t.family_id from vault.refresh_tokens t where t.digest = presented) for no key update;
  if not found or family.client_id <> refresh_tokens.client_id or family.revoked_at is not null
    or family.ends_at <= app.now() or not app.client_works_for(family.client_id, family.user_id)
  then
    return;
  end if;
  select t.* into token from vault.refresh_tokens t where t.digest = presented;
  overlapping := coalesce(
    to_timestamp(began / 1000) < token.consumed_clock
      and to_timestamp(began / 1000) >= token.consumed_clock - apart
      and clock_timestamp() <= token.consumed_clock + apart,
    false);
  if token.consumed_at is not null and not overlapping then
    update vault.token_families f set revoked_at = app.now() where f.id = family.id;
    update vault.refresh_tokens t set answer = null where t.family_id = family.id and t.answer is not null;
    perform app.audit_family(family.user_id, family.client_id, family.id, 'tokens.replay', 'revoked', address, request_id, '{}');
    return;
  end if;
  if token.expires_at <= app.now() then
    return;
  end if;
  if not coalesce(wanted, family.scopes) <@ family.scopes or not 'mcp:read' = any (coalesce(wanted, family.scopes)) then
    outcome := 'invalid_scope';
    return;
  end if;
  if coalesce(resource, family.resource) <> family.resource then
    outcome := 'invalid_target';
    return;
  end if;
  left_of_family := least(3600, floor(extract(epoch from family.ends_at - app.now())));
  if token.consumed_at is not null then
    -- Once the successor was used there is no answer to give any more, and nothing to revoke either.
    if token.answer is not null then
      outcome := 'overlapping';
      scopes := token.answer_scopes;
      answer := token.answer;
      expires_in := least(left_of_family, 3600 - extract(epoch from app.now() - token.consumed_at)::int);
    end if;
    return;
  end if;
  if family.refreshed_on = today and family.refreshes >= 1000 then
    perform app.refuse_until('too_many_today',
      'This grant was refreshed 1,000 times today, which is the limit: use its access token until that expires, and refresh again after %s.',
      date_trunc('day', app.now(), 'UTC') + interval '1 day');
  end if;
  update vault.token_families f
    set refreshed_on = today, refreshes = case when f.refreshed_on = today then f.refreshes + 1 else 1 end where f.id = family.id;
  scopes := coalesce(wanted, family.scopes);
  expires_in := left_of_family;
  update vault.refresh_tokens t
    set consumed_at = app.now(), consumed_clock = clock_timestamp(), answer = sealed, answer_scopes = refresh_tokens.scopes
    where t.digest = presented and t.consumed_at is null;
  -- Whoever holds this token has received the answer that made it: the one kept for it is no longer needed.
  update vault.refresh_tokens t set answer = null
    where t.family_id = family.id and t.answer is not null and t.digest <> presented;
  perform app.issue_tokens(family.id, scopes, access_token, refresh_token);
  perform app.audit_family(family.user_id, family.client_id, family.id, 'tokens.refresh', 'done', address, request_id,
    jsonb_build_object('scopes', scopes));
  outcome := 'issued';
end
$function$;
GRANT EXECUTE ON FUNCTION app.refresh_tokens(uuid,bytea,text[],text,double precision,double precision,bytea,bytea,bytea,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.refuse(reason text, message text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  raise exception using errcode = 'DK001', message = message, hint = reason;
end
$function$;
GRANT EXECUTE ON FUNCTION app.refuse(text,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.refuse_client_by_document(client_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.client_is_by_document(client_id) then
    perform app.refuse('invalid_client', 'The client_id of a client by its document is the address of the document.');
  end if;
end
$function$;
GRANT EXECUTE ON FUNCTION app.refuse_client_by_document(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.refuse_if_closed(deal_id uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  deal public.deals;
begin
  if not app.has_caller() then
    return;
  end if;
  select d.* into deal from public.deals d where d.id = refuse_if_closed.deal_id for share;
  if deal.state = 'closed' and app.seen_deal(deal.id) is not null then
    perform app.refuse('deal_closed', 'The deal is closed and can no longer be changed.');
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION app.refuse_if_expired(offer public.offers)
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  expires constant timestamptz := app.time_in(offer.payload ->> 'expires_at');
begin
  if expires <= app.now() then
    perform app.refuse('offer_expired', format('This offer expired on %s: ask the buyer to submit it again.',
      to_char(expires at time zone 'UTC', 'FMDD FMMonth YYYY "at" HH24:MI "UTC"')));
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION app.refuse_if_full_today(of_table text, author text, at text, what text, most integer, deal uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  person constant uuid := app.user_id();
  last_in_the_way timestamptz;
begin
  execute format('select %3$I from %1$s where deal_id = $1 and %2$I %4$s and %3$I > $3 order by %3$I desc offset $4 limit 1',
      of_table, author, at, case when person is null then 'is null' else '= $2' end)
    into last_in_the_way using deal, person, app.now() - interval '1 day', most - 1;
  if last_in_the_way is not null then
    perform app.refuse_until('too_many_today', format('At most %s %s a %s a day on a deal: continue after %%s.', to_char(most, 'FM999,999'), what,
      case when person is null then 'brokerage''s keys' else 'person' end), last_in_the_way + interval '1 day');
  end if;
end $function$;

CREATE OR REPLACE FUNCTION app.refuse_mail(part text, message text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  perform app.refuse_until('too_many_mails', message, date_trunc(part, app.now(), 'UTC') + ('1 ' || part)::interval);
end
$function$;

CREATE OR REPLACE FUNCTION app.refuse_reset(of_brokerage uuid)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  sandbox public.brokerages;
  seconds int;
begin
  select b.* into sandbox from public.brokerages b where b.sandbox_of = of_brokerage for no key update;
  seconds := ceil(extract(epoch from sandbox.reset_at + interval '10 seconds' - app.now()));
  if seconds > 0 and sandbox.reset_at > sandbox.created_at then
    raise exception using errcode = 'DK001', message = format('The sandbox was reset less than ten seconds ago: try again in %s s.', seconds), hint = 'sandbox_just_reset',
      detail = seconds;
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION app.refuse_until(reason text, message text, again timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  -- The first whole minute at which there is room.
  moment constant timestamptz := date_trunc('minute', again + interval '59.999999 seconds', 'UTC');
begin
  raise exception using errcode = 'DK001', hint = reason, detail = ceil(extract(epoch from moment - app.now()))::text,
    message = format(message, to_char(moment at time zone 'UTC',
      case when date_trunc('day', moment, 'UTC') = date_trunc('day', app.now(), 'UTC') then 'HH24:MI "UTC"' else 'HH24:MI "UTC on" FMDD FMMonth' end));
end
$function$;

CREATE OR REPLACE FUNCTION app.refuse_value(field text, message text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  raise exception using errcode = 'DK002', message = message, column = field;
end
$function$;
GRANT EXECUTE ON FUNCTION app.refuse_value(text,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.refuse_without_factor(person uuid)
 RETURNS void
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  perform app.refuse('second_factor_required', case when app.has_second_factor(person)
    then 'Sign in again with your passkey or authenticator, then repeat this: a brokerage of yours asks its members for a second factor, and you have not shown yours.'
    else 'Set up an authenticator or a passkey under "Security" first: a brokerage of yours asks its members for a second factor.' end);
end
$function$;

CREATE OR REPLACE FUNCTION app.remember_answer(idempotency_key text, answer text)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO ''
BEGIN ATOMIC
 UPDATE vault.idempotency_keys k SET answer = remember_answer.answer
   WHERE ((k.key_id = app.key_id()) AND (k.idempotency_key = remember_answer.idempotency_key) AND (k.answer IS NULL) AND (k.contact_id IS NULL));
END;
GRANT EXECUTE ON FUNCTION app.remember_answer(text,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.remember_tool_answer(tool text, idempotency_key text, answer text)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO ''
BEGIN ATOMIC
 UPDATE vault.tool_call_keys k SET answer = remember_tool_answer.answer
   WHERE ((k.user_id = app.user_id()) AND (k.client_id = app.client_id()) AND (k.tool = remember_tool_answer.tool) AND (k.idempotency_key = remember_tool_answer.idempotency_key) AND (k.answer IS NULL));
END;
GRANT EXECUTE ON FUNCTION app.remember_tool_answer(text,text,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.remembered_account_lines(deal uuid, most integer)
 RETURNS TABLE(account_lines jsonb)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  own record;
begin
  if (deal = any (app.qoe_deals(true))) is not true then
    return;
  end if;
  select p.principal_id, p.principal_role into own from app.participations() p where p.deal_id = deal;
  return query
    select s.account_lines from public.accounting_snapshots s
    join vault.parts u on u.deal_id = s.deal_id and u.user_id = s.requested_by
    where s.deal_id = deal and s.status = 'completed' and s.account_lines is not null
      and (u.principal_id = own.principal_id
        or (u.principal_role in ('broker', 'seller') and own.principal_role in ('broker', 'seller')))
      and not exists (select from public.participants c
        where c.id in (u.participant_id, u.principal_id) and c.updated_at > s.requested_at)
    order by s.completed_at desc, s.id desc limit least(greatest(most, 0), 20);
end $function$;
GRANT EXECUTE ON FUNCTION app.remembered_account_lines(uuid,integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.remind(of_table text, record uuid, address inet, request_id text)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  deal constant uuid := case when of_table in ('ndas', 'questions', 'closing_conditions') then app.deal_of(of_table, record) end;
  waiting uuid[];
  reminded uuid[];
  person uuid;
begin
  if app.user_id() is null or app.client_id() is not null or not coalesce(deal = any (app.deals_acting_as('broker')), false) then
    return null;
  end if;
  perform app.refuse_if_closed(deal);
  if app.actual_state(deal) = 'withdrawn' then
    perform app.refuse('deal_withdrawn', 'The deal is withdrawn: nobody has to do anything about this anymore.');
  end if;
  waiting := array(select w from app.who_could_open(array(select a from app.awaited(of_table, record) a), of_table, record, deal) w);
  if waiting = '{}' then
    perform app.refuse('nobody_to_remind', 'Nobody has to do anything about this at the moment.');
  end if;
  -- One after the other, so that the count below holds.
  perform pg_advisory_xact_lock(hashtextextended('reminders of ' || app.user_id(), 0));
  if (select count(*) from vault.sent_reminders s where s.sent_by = app.user_id() and s.sent_at > app.now() - interval '1 hour')
    + cardinality(waiting) > 60
  then
    perform app.refuse('too_many_reminders', 'That would be more than 60 reminders within an hour: try again later.');
  end if;
  with sent as (
    insert into vault.sent_reminders as s (subject, subject_id, recipient_id, deal_id, sent_by)
      select of_table, record, w, deal, app.user_id() from unnest(waiting) w
      on conflict (subject, subject_id, recipient_id) do update set sent_by = excluded.sent_by, sent_at = excluded.sent_at
        where s.sent_at <= app.now() - interval '24 hours'
      returning s.recipient_id)
    select array_agg(t.recipient_id) into reminded from sent t;
  if reminded is null then
    perform app.refuse('reminded_already', 'They were reminded within the last 24 hours.');
  end if;
  foreach person in array reminded loop
    perform app.queue_event(case of_table when 'ndas' then 'nda_reminder' when 'questions' then 'question_reminder' else 'condition_reminder' end,
      deal, of_table, record, app.user_id(), person);
  end loop;
  perform app.audit('reminder.send', record::text, 'done', null, deal, address, request_id, jsonb_build_object('about', of_table));
  return cardinality(reminded);
end
$function$;
GRANT EXECUTE ON FUNCTION app.remind(text,uuid,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.reminders_of(of_table text, record jsonb)
 RETURNS TABLE(kind text, remind_at timestamp with time zone, due_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
#variable_conflict use_column
begin
  return query select d.kind, d.remind_at, d.due_at from app.deadlines_of(of_table, record) d where d.remind_at > app.now();
end
$function$;

CREATE OR REPLACE FUNCTION app.reminders_sent(deal uuid)
 RETURNS TABLE(subject text, subject_id uuid, sent_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.client_id() is not null or not coalesce(deal = any (app.deals_acting_as('broker')), false) then
    return;
  end if;
  return query
    select s.subject, s.subject_id, max(s.sent_at) from vault.sent_reminders s
    where s.deal_id = deal and s.sent_at > app.now() - interval '24 hours'
    group by s.subject, s.subject_id order by max(s.sent_at) desc limit 500;
end
$function$;
GRANT EXECUTE ON FUNCTION app.reminders_sent(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.remove_advisors()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  advisor record;
  details jsonb;
begin
  for advisor in
    update public.participants p set status = 'removed' from public.participants was
      where p.advises = new.id and p.status <> 'removed' and was.id = p.id returning p.id, was.status as was
  loop
    details := case when advisor.was = 'invited' then '{"withdrawn": true}' else '{}' end;
    -- Who declines removes nobody, and the deal's people do not learn whose account it was.
    if old.status = 'invited' and new.user_id = app.user_id() then
      insert into public.audit_records (brokerage_id, deal_id, action, subject_id, outcome, details)
        values (new.brokerage_id, new.deal_id, 'participant.remove', advisor.id::text, 'done', details);
    else
      perform app.audit('participant.remove', advisor.id::text, 'done', null, new.deal_id, null, null, details);
    end if;
  end loop;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.remove_document(source text, document_id uuid, back boolean)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  deal uuid;
begin
  execute format(
    'update public.%I d set removed_at = case when $2 then null else app.now() end
     where d.id = $1 and d.deal_id = any (app.deals_acting_as(''broker'', ''seller''))
       and case when $2 then d.removed_at > app.now() - interval ''1 hour'' else d.removed_at is null end
     returning d.deal_id',
    case source when 'simple' then 'documents' else 'production_documents' end)
    into deal using document_id, back;
  return deal;
end
$function$;
GRANT EXECUTE ON FUNCTION app.remove_document(text,uuid,boolean) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.remove_member(from_brokerage uuid, member uuid, successor uuid, address inet, request_id text)
 RETURNS TABLE(deals jsonb, handed_over boolean)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  administers constant boolean := from_brokerage = any (app.brokerages_as('admin'));
  -- Also a member whom the brokerage bars until they use a second factor.
  leaves constant boolean := coalesce(member = app.user_id(), false) and exists (
    select from public.members m where m.brokerage_id = from_brokerage and m.user_id = member and m.status = 'active');
  alone jsonb;
  deal uuid;
begin
  if from_brokerage is null or app.client_id() is not null or (administers or leaves and successor is null) is not true then
    return;
  end if;
  -- Whoever makes the successor a broker needs their account, and an erasure has it first.
  perform from public.users u where u.id = successor for share;
  perform from public.members m
    where m.brokerage_id = from_brokerage and (m.person_id = member or m.user_id = successor) order by m.user_id for update;
  if not exists (select from public.members m where m.brokerage_id = from_brokerage and m.person_id = member and m.status <> 'removed') then
    return;
  end if;
  perform from public.brokerages b join public.members m on m.brokerage_id = b.id
    where b.id = from_brokerage and m.person_id = member and m.role = 'admin' and m.status = 'active' for no key update of b;
  -- Withdrawn with them (app.end_parts_of_member): before parts of deals, as whoever invites to a deal has the member first.
  perform from public.members m
    where m.brokerage_id = from_brokerage and m.user_id = any (array(select app.member_invitations_made(member, from_brokerage)))
    order by m.user_id for update;
  perform app.lock_parts(member, from_brokerage, successor);
  -- As it is now that nobody else leaves them.
  if not administers and exists (select from app.open_deals_alone(from_brokerage, member)) then
    perform app.refuse('only_broker', 'On a deal of this brokerage you are its only broker: ask an admin to invite another broker to it, or to remove you and choose who takes it over.');
  end if;
  select coalesce(jsonb_agg(jsonb_build_object('id', a.id, 'title', a.title)), '[]') into alone
    from app.deals_run_alone(from_brokerage, member) a;
  update public.members m set status = 'removed'
    where m.brokerage_id = from_brokerage and m.person_id = member and m.status <> 'removed';
  perform app.audit('member.remove', member::text, 'done', from_brokerage, null, address, request_id,
    case when jsonb_array_length(alone) = 0 then '{}'::jsonb else jsonb_build_object('deals', jsonb_array_length(alone)) end
      || case when leaves then '{"left": true}'::jsonb else '{}'::jsonb end);
  if successor is not null then
    perform from public.members m join public.users u on u.id = m.user_id
      where m.brokerage_id = from_brokerage and m.user_id = successor and m.status = 'active' and m.role in ('admin', 'broker')
        and u.suspended_at is null for update of m;
    if not found then
      perform app.refuse('not_a_broker', 'The successor is an active admin or broker of the brokerage: choose one.');
    end if;
    for deal in select (a.deal ->> 'id')::uuid from jsonb_array_elements(alone) a (deal) loop
      perform app.audit('deal.hand_over', app.appoint_broker(deal, successor)::text, 'done', null, deal, address, request_id, '{}');
    end loop;
  end if;
  return query select alone, successor is not null;
end
$function$;
GRANT EXECUTE ON FUNCTION app.remove_member(uuid,uuid,uuid,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.remove_passkey(session bytea, passkey_id uuid, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session_with_factor(session) r;
  delete from vault.passkeys k where k.id = passkey_id and k.user_id = this.user_id;
  if not found then
    return false;
  end if;
  perform app.end_sessions_with_factor(this, address, request_id);
  perform app.notify_security_change(this.user_id, 'passkey_removed');
  perform app.record(this.user_id, 'passkey.remove', 'done', null, address, request_id);
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.remove_passkey(bytea,uuid,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.remove_second_factor(session bytea, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session_with_factor(session) r;
  delete from vault.recovery_codes c where c.user_id = this.user_id;
  delete from vault.totp t where t.user_id = this.user_id;
  if not found then
    return false;
  end if;
  perform app.end_sessions_with_factor(this, address, request_id);
  perform app.notify_security_change(this.user_id, 'authenticator_removed');
  perform app.record(this.user_id, 'second_factor.off', 'done', null, address, request_id);
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.remove_second_factor(bytea,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.remove_webhook(endpoint uuid, address inet, request_id text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  now constant timestamptz := app.now();
  this constant public.webhook_endpoints := app.webhook_to_manage(endpoint);
begin
  if app.delete_deliveries(this.id, 10000) < 10000 then
    delete from public.webhook_endpoints e where e.id = this.id;
  else
    delete from vault.webhook_secrets s where s.endpoint_id = this.id;
    update public.webhook_endpoints e set removed_at = now, state = 'off', off_reason = 'asked', off_because = null, off_since = now, claim = null, claimed_until = null
      where e.id = this.id;
  end if;
  perform app.audit('webhook.delete', this.id::text, 'done', this.brokerage_id, null, address, request_id, '{}');
end
$function$;
GRANT EXECUTE ON FUNCTION app.remove_webhook(uuid,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.rename_passkey(session bytea, passkey_id uuid, new_name text, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  owner_id uuid;
begin
  update vault.passkeys k set name = new_name from vault.live_sessions l
    where l.digest = session and k.id = passkey_id and k.user_id = l.user_id returning k.user_id into owner_id;
  if not found then
    return false;
  end if;
  perform app.record(owner_id, 'passkey.rename', 'done', null, address, request_id);
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.rename_passkey(bytea,uuid,text,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.renew_recovery_codes(session bytea, code_digests bytea[], address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session_with_factor(session) r;
  if not found or not exists (select from vault.totp t where t.user_id = this.user_id and t.confirmed_at is not null) then
    return false;
  end if;
  delete from vault.recovery_codes c where c.user_id = this.user_id;
  insert into vault.recovery_codes (user_id, digest) select this.user_id, unnest(code_digests);
  perform app.notify_security_change(this.user_id, 'recovery_codes_renewed');
  perform app.record(this.user_id, 'recovery_codes.renew', 'done', null, address,
    request_id);
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.renew_recovery_codes(bytea,bytea[],inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.renew_session(session_id uuid, token bytea)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  update vault.sessions s set ended_at = app.now() where s.id = renew_session.session_id and s.ended_at is null;
  if not found then
    perform app.refuse('recent_sign_in_required', 'Confirm that it is you: sign in again, then repeat this.');
  end if;
  insert into vault.sessions (user_id, digest, method, created_at, authenticated_at, address, user_agent, second_factor_at)
    select s.user_id, token, s.method, s.created_at, s.authenticated_at, s.address, s.user_agent, s.second_factor_at
    from vault.sessions s where s.id = renew_session.session_id;
end
$function$;

CREATE OR REPLACE FUNCTION app.require_person()
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if app.user_id() is null then
    raise insufficient_privilege using message = 'Nobody is signed in.';
  end if;
end
$function$;
GRANT EXECUTE ON FUNCTION app.require_person() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.require_recent_sign_in(session bytea)
 RETURNS void
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$ begin perform app.recent_session(session); end $function$;
GRANT EXECUTE ON FUNCTION app.require_recent_sign_in(bytea) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.require_second_factor(of_brokerage uuid, required boolean, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  ended jsonb := '{}';
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return false;
  end if;
  perform app.check_recent_sign_in();
  if required and not (app.has_second_factor(app.user_id()) and app.has_shown_factor()) then
    perform app.refuse('second_factor_missing', 'Set up a second factor of your own first, and sign in with it.');
  end if;
  update public.brokerages b set requires_second_factor = required
    where b.id = of_brokerage and b.requires_second_factor <> required;
  if found then
    if required then
      select to_jsonb(e) into ended from app.end_grants_without_factor(
        array(select m.user_id from public.members m where m.brokerage_id = of_brokerage and m.status = 'active'), request_id) e;
    end if;
    perform app.audit('brokerage.second_factor', of_brokerage::text, 'done', of_brokerage, null, address, request_id,
      ended || jsonb_build_object('required', required));
  end if;
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.require_second_factor(uuid,boolean,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.resend_mail(of_brokerage uuid, mail uuid, new_token bytea, new_secret text, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  to_whom text;
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return false;
  end if;
  select o.recipient into to_whom from vault.outbox o
    where o.id = mail and o.brokerage_id = of_brokerage and o.sent_at is null;
  if not found or not app.retry_mail(mail, new_token, new_secret) then
    return false;
  end if;
  perform app.count_mail_to(app.user_id(), of_brokerage, to_whom, false);
  perform app.audit('mail.resend', mail::text, 'done', of_brokerage, null, address, request_id, '{}');
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.resend_mail(uuid,uuid,bytea,text,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.reset_owner(token bytea)
 RETURNS TABLE(email text, name text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return query
    select u.email, u.name from vault.password_resets r join public.users u on u.id = r.user_id
    where r.digest = token and r.expires_at > app.now() and u.suspended_at is null;
end
$function$;
GRANT EXECUTE ON FUNCTION app.reset_owner(bytea) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.reset_password(token bytea, new_phc text, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  person uuid;
  first_proof boolean;
  factors int := 0;
begin
  -- The account first, as whoever erases it does.
  perform from public.users u
    where u.id = (select r.user_id from vault.password_resets r where r.digest = token) for no key update;
  delete from vault.password_resets r using public.users u
    where r.digest = token and r.expires_at > app.now() and u.id = r.user_id and u.suspended_at is null
    returning r.user_id into person;
  if not found then
    return false;
  end if;
  first_proof := not exists (select from vault.passwords p where p.user_id = person and p.address_proven_at is not null);
  if first_proof then
    factors := (select count(*) from vault.passkeys k where k.user_id = person) + (select count(*) from vault.totp t where t.user_id = person);
    delete from vault.passkeys k where k.user_id = person;
    delete from vault.recovery_codes c where c.user_id = person;
    delete from vault.totp t where t.user_id = person;
  end if;
  insert into vault.passwords (user_id, phc, address_proven_at) values (person, new_phc, app.now())
    on conflict (user_id) do update set phc = excluded.phc, changed_at = app.now(),
      address_proven_at = coalesce(vault.passwords.address_proven_at, excluded.address_proven_at);
  delete from vault.password_resets r where r.user_id = person;
  perform app.end_sessions_of(person);
  perform app.record(person, 'password.reset', 'done', app.on_reset(person, first_proof) || jsonb_build_object('factors', factors), address, request_id);
  perform app.queue_security_mail(person, 'password_reset');
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.reset_password(bytea,text,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.reset_sandbox(of_brokerage uuid, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return null;
  end if;
  if not exists (select from public.brokerages b where b.sandbox_of = of_brokerage) then
    return false;
  end if;
  perform app.refuse_reset(of_brokerage);
  perform app.set_up_sandbox(of_brokerage, true);
  perform app.audit('sandbox.reset', of_brokerage::text, 'done', of_brokerage, null, address, request_id, '{}');
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.reset_sandbox(uuid,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.reset_sandbox_with_key(address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  of_brokerage uuid;
begin
  select k.brokerage_id into of_brokerage from public.api_keys k where k.id = app.key_id() and k.environment = 'test';
  if of_brokerage is null then
    return false;
  end if;
  perform app.refuse_reset(of_brokerage);
  perform app.set_up_sandbox(of_brokerage, true);
  perform app.audit('sandbox.reset', of_brokerage::text, 'done', of_brokerage, null, address, request_id, '{}');
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.reset_sandbox_with_key(inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.retry_mail(mail uuid, new_token bytea, new_secret text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  undelivered vault.outbox;
begin
  select o.* into undelivered from vault.outbox o where o.id = mail and o.sent_at is null for update;
  if not found then
    return false;
  end if;
  if undelivered.claimed_until > app.now() then
    perform app.refuse('mail_under_way', 'This e-mail is being sent right now: check again in a few minutes.');
  end if;
  -- Somebody who sends an invitation again gives its reader the whole time, as when it is sent first. Others are asked for again when they have expired.
  if undelivered.link is not null and (undelivered.given_up_at is not null or undelivered.kind = 'invitation') then
    update vault.invitations i set digest = new_token, expires_at = app.now() + interval '14 days'
      where i.digest = undelivered.link and app.is_live_link(undelivered.link);
    if not found then
      perform app.refuse('link_expired', 'The link in this e-mail was used, withdrawn, or has expired: it has to be requested again.');
    end if;
    undelivered.link := new_token;
    undelivered.secret := new_secret;
  end if;
  update vault.outbox o set given_up_at = null, claimed_until = null, attempts = 0, refusals = 0, rank = o.rank % 10, next_attempt_at = app.now(), turn_at = app.now(),
      give_up_at = app.now() + interval '3 days', link = undelivered.link, secret = undelivered.secret
    where o.id = undelivered.id;
  perform pg_notify('dealkeep_mail', '');
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION app.return_questions()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  returned uuid;
begin
  if app.actual_state(new.deal_id) = 'closed' or app.has_seller(new.deal_id) then
    return null;
  end if;
  for returned in
    update public.questions q set status = 'pending_broker_review' where q.deal_id = new.deal_id and q.status = 'with_seller' returning q.id
  loop
    if app.actual_state(new.deal_id) <> 'withdrawn' then
      perform app.queue_event('question_returned', new.deal_id, 'questions', returned, app.user_id(), null);
    end if;
  end loop;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.revoke_api_key(key_id uuid, address inet, request_id text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  key constant public.api_keys := app.key_to_manage(key_id);
begin
  if key.revoked_at is null then
    update public.api_keys k set revoked_at = app.now(), revoked_by = app.user_id() where k.id = key.id;
    perform app.audit('api_key.revoke', key.id::text, 'done', key.brokerage_id, null, address, request_id, '{}');
  end if;
end
$function$;
GRANT EXECUTE ON FUNCTION app.revoke_api_key(uuid,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.revoke_families(user_id uuid, client_id uuid)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  revoked int;
begin
  if user_id is null and client_id is null then
    return 0;
  end if;
  update vault.authorization_codes c set burned_at = app.now()
    where c.used_at is null and c.burned_at is null
      and (revoke_families.user_id is null or c.user_id = revoke_families.user_id)
      and (revoke_families.client_id is null or c.client_id = revoke_families.client_id);
  update vault.token_families f set revoked_at = app.now()
    where f.revoked_at is null
      and (revoke_families.user_id is null or f.user_id = revoke_families.user_id)
      and (revoke_families.client_id is null or f.client_id = revoke_families.client_id);
  get diagnostics revoked = row_count;
  return revoked;
end
$function$;

CREATE OR REPLACE FUNCTION app.revoke_token(client_id uuid, presented bytea, address inet, request_id text, OUT outcome text)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  family vault.token_families;
begin
  outcome := 'invalid_client';
  if not app.client_lives(client_id) then
    return;
  end if;
  outcome := 'revoked';
  update vault.token_families f set revoked_at = app.now()
    where f.id = (select t.family_id from vault.refresh_tokens t where t.digest = presented)
      and f.client_id = revoke_token.client_id and f.revoked_at is null
    returning f.* into family;
  if found then
    perform app.audit_family(family.user_id, family.client_id, family.id, 'tokens.revoke', 'done', address, request_id,
      '{"token": "refresh"}');
    return;
  end if;
  update vault.access_tokens t set revoked_at = app.now()
    from vault.token_families f
    where t.digest = presented and t.revoked_at is null and f.id = t.family_id and f.client_id = revoke_token.client_id
    returning f.* into family;
  if found then
    perform app.audit_family(family.user_id, family.client_id, family.id, 'tokens.revoke', 'done', address, request_id,
      '{"token": "access"}');
    return;
  end if;
  outcome := 'nothing';
end
$function$;
GRANT EXECUTE ON FUNCTION app.revoke_token(uuid,bytea,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.role_of_reader(mail uuid, deal uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Mails are made by those who deliver them.');
  end if;
  return (
    select p.role from vault.outbox o join vault.deals_of_people p on p.user_id = o.recipient_id and p.deal_id = role_of_reader.deal
    where o.id = role_of_reader.mail and o.kind = 'notifications' and o.sent_at is null);
end
$function$;
GRANT EXECUTE ON FUNCTION app.role_of_reader(uuid,uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.role_on(deal uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (select o.role from vault.deals_of_people o where o.user_id = app.user_id() and o.deal_id = role_on.deal);
end
$function$;
GRANT EXECUTE ON FUNCTION app.role_on(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.rotate_api_key(key_id uuid, overlap interval, digest bytea, last_four text, address inet, request_id text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  key public.api_keys;
  now constant timestamptz := app.now();
  turned_off int := 0;
begin
  perform app.hold_session();
  key := app.key_to_manage(key_id);
  if key.revoked_at is not null or key.expires_at <= now then
    perform app.refuse('api_key_ended', 'This key is revoked or expired: create a new one instead.');
  end if;
  if overlap is null or overlap < interval '0' or overlap > interval '30 days' then
    perform app.refuse('overlap_not_allowed', 'The old token can keep working for 0 to 30 days.');
  end if;
  update vault.api_key_digests d set valid_until = least(d.valid_until, now + overlap) where d.key_id = key.id;
  insert into vault.api_key_digests (digest, key_id, issued_by)
  values (rotate_api_key.digest, key.id, app.user_id());
  update public.api_keys k set rotated_at = now, previous_last_four = k.last_four, previous_valid_until = now + overlap,
    last_four = rotate_api_key.last_four where k.id = key.id;
  -- A token that has to stop at once may be in other hands, and what was added with it would go on sending there.
  if overlap = interval '0' then
    turned_off := app.turn_off_webhooks(null, null, key.id);
  end if;
  perform app.audit('api_key.rotate', key.id::text, 'done', key.brokerage_id, null, address, request_id,
    jsonb_build_object('previous_valid_until', now + overlap) || case when turned_off > 0 then jsonb_build_object('webhooks', turned_off) else '{}' end);
end
$function$;
GRANT EXECUTE ON FUNCTION app.rotate_api_key(uuid,interval,bytea,text,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.rotate_webhook_secret(endpoint uuid, secret_id uuid, secret text, overlap interval, address inet, request_id text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  this public.webhook_endpoints;
begin
  perform app.hold_webhook_admins();
  this := app.webhook_to_manage(endpoint);
  if app.key_id() is null then
    perform app.check_recent_sign_in();
  end if;
  delete from vault.webhook_secrets s where s.endpoint_id = this.id and (s.ends_at <= app.now() or overlap <= interval '0'
    or s.id in (select o.id from vault.webhook_secrets o where o.endpoint_id = this.id order by o.created_at desc, o.id offset 4));
  update vault.webhook_secrets s set ends_at = app.now() + least(overlap, interval '7 days') where s.endpoint_id = this.id and s.ends_at is null;
  insert into vault.webhook_secrets (id, endpoint_id, secret) values (secret_id, this.id, rotate_webhook_secret.secret);
  update public.webhook_endpoints e set created_by = app.user_id() where e.id = this.id and e.created_by is distinct from app.user_id();
  perform app.audit('webhook.rotate_secret', this.id::text, 'done', this.brokerage_id, null, address, request_id, '{}');
end
$function$;
GRANT EXECUTE ON FUNCTION app.rotate_webhook_secret(uuid,uuid,text,interval,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.rows_of_brokerage(deals text, parts boolean)
 RETURNS TABLE(name text, condition text)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  -- By their names in the catalogue: not everybody who asks may look a name of the vault up.
  left_out constant oid[] := array(select c.oid from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'vault' and c.relname in ('brokerage_deletions', 'deals_of_people', 'answers_of_people', 'ndas_of_people'));
  conditions jsonb := '{}';
  found record;
  added int;
begin
  for found in
    select c.oid, string_agg(case a.attname when 'deal_id' then 't.deal_id = ' || deals else 't.' || a.attname || ' = $1' end,
        ' or ' order by a.attname) as condition
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      join pg_catalog.pg_attribute a on a.attrelid = c.oid and not a.attisdropped and a.atttypid = 'uuid'::regtype
        and a.attname in ('brokerage_id', 'organization_id', 'deal_id') and not (a.attname = 'brokerage_id' and app.has_tenant_by_trigger(c.oid))
    where n.nspname in ('public', 'vault') and c.relpersistence = 'p' and c.oid <> all (left_out)
      and (c.relkind = 'r' and (parts or not c.relispartition) or c.relkind = 'p' and not parts)
    group by c.oid
  loop
    conditions := conditions || jsonb_build_object(found.oid::text, found.condition);
  end loop;
  conditions := conditions || jsonb_build_object('public.brokerages'::regclass::oid::text, 't.id = $1');
  -- What refers to these and has no such column, or one that may be empty.
  loop
    added := 0;
    for found in
      -- Beside a condition that there is, as a list of values: an `or` with a query of rows is answered by reading the whole table.
      select k.conrelid as oid, string_agg(format(case when conditions ? k.conrelid::text then 't.%I = any (array(select t.%I from %s t where %s))'
          else 't.%I in (select t.%I from %s t where %s)' end,
          a.attname, f.attname, k.confrelid::regclass, conditions ->> k.confrelid::text), ' or ' order by k.conname) as condition
      from pg_catalog.pg_constraint k
        join pg_catalog.pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
        join pg_catalog.pg_attribute f on f.attrelid = k.confrelid and f.attnum = k.confkey[1]
      where k.contype = 'f' and array_length(k.conkey, 1) = 1 and k.conrelid <> k.confrelid
        and conditions ? k.confrelid::text and not k.confrelid in ('public.brokerages'::regclass, 'public.deals'::regclass)
        and k.conrelid <> all (left_out) and strpos(coalesce(conditions ->> k.conrelid::text, ''), '(select t.') = 0
        and not exists (select from pg_catalog.pg_attribute o where o.attrelid = k.conrelid and not o.attisdropped
          and (o.attname in ('deal_id', 'organization_id') or (o.attname = 'brokerage_id' and o.attnotnull and not app.has_tenant_by_trigger(k.conrelid))))
      group by k.conrelid
    loop
      conditions := conditions || jsonb_build_object(found.oid::text,
        concat_ws(' or ', conditions ->> found.oid::text, found.condition));
      added := added + 1;
    end loop;
    exit when added = 0;
  end loop;
  -- Those to which nothing that is left refers come first.
  while conditions <> '{}' loop
    added := 0;
    for found in
      select o.key, o.key::oid::regclass::text as name, o.value as condition from jsonb_each_text(conditions) o
      where not exists (select from pg_catalog.pg_constraint k
        where k.contype = 'f' and k.confrelid = o.key::oid and k.conrelid <> k.confrelid and conditions ? k.conrelid::text)
      order by 2
    loop
      name := case when strpos(found.name, '.') = 0 then 'public.' || found.name else found.name end;
      condition := found.condition;
      return next;
      conditions := conditions - found.key;
      added := added + 1;
    end loop;
    if added = 0 then
      raise exception 'Tables refer to one another in a circle: %', conditions;
    end if;
  end loop;
end
$function$;
GRANT EXECUTE ON FUNCTION app.rows_of_brokerage(text,boolean) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.sandbox_address(sandbox uuid, name text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (((name || '@'::text) || replace((sandbox)::text, '-'::text, ''::text)) || '.sandbox.invalid'::text);

CREATE OR REPLACE FUNCTION app.sandbox_id(sandbox uuid, word text)
 RETURNS uuid
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN (OVERLAY(OVERLAY(OVERLAY(md5(((sandbox || ' '::text) || word)) PLACING '019000000000'::text FROM 1) PLACING '7'::text FROM 13) PLACING 'a'::text FROM 17))::uuid;

CREATE OR REPLACE FUNCTION app.sandbox_of(of_brokerage uuid)
 RETURNS TABLE(reset_at timestamp with time zone, contacts bigint, deals bigint)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select b.reset_at, (select count(*) from public.contacts c where c.brokerage_id = b.id), (select count(*) from public.deals d where d.organization_id = b.id)
  from public.brokerages b
  where b.sandbox_of = sandbox_of.of_brokerage and sandbox_of.of_brokerage = any (app.brokerages_as('admin'))
$function$;
GRANT EXECUTE ON FUNCTION app.sandbox_of(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.saw_any_document(deal uuid, ids uuid[])
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  sees_deal constant boolean := app.seen_deal(deal) is not null;
  deal_side constant uuid[] := app.deals_as('broker', 'seller');
  under_nda constant uuid[] := app.deals_under_nda();
  held constant uuid[] := app.deals_held_exclusively();
begin
  return exists (select from public.documents d where d.id = any (ids) and d.deal_id = deal
      and app.document_is_visible(d.deal_id, d.confidentiality, sees_deal, deal_side, under_nda, held))
    or exists (select from public.production_documents d where d.id = any (ids) and d.deal_id = deal
      and app.document_is_visible(d.deal_id, d.confidentiality, sees_deal, deal_side, under_nda, held));
end
$function$;
GRANT EXECUTE ON FUNCTION app.saw_any_document(uuid,uuid[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.scopes_in_force(key uuid)
 RETURNS text[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
begin
  return (
    select app.scopes_of(k.scopes, case when bool_or(m.role = 'admin') then 'admin' end) from public.api_keys k
    join vault.api_key_digests d on d.key_id = k.id
    join public.users u on u.id = d.issued_by
    join public.members m on m.brokerage_id = k.brokerage_id and m.user_id = d.issued_by
    join public.brokerages b on b.id = k.brokerage_id
    where k.id = key and k.revoked_at is null and (k.expires_at is null or k.expires_at > app.now())
      and (d.valid_until is null or d.valid_until > app.now()) and u.suspended_at is null and m.status = 'active'
      and (not b.requires_second_factor or app.has_second_factor(d.issued_by))
    group by k.id);
end
$function$;

CREATE OR REPLACE FUNCTION app.scopes_of(scopes text[], role text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (role = 'admin'::text) THEN scopes ELSE ARRAY(SELECT s.s FROM unnest(scopes_of.scopes) s(s) WHERE (s.s = ANY (app.member_scopes()))) END;

CREATE OR REPLACE FUNCTION app.seal(identity text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  secret bytea;
  sealed text;
begin
  select s.secret into secret from vault.seal s;
  sealed := concat(set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', app.seal_of(identity, secret), true));
end
$function$;

CREATE OR REPLACE FUNCTION app.seal_of(identity text, secret bytea)
 RETURNS text
 LANGUAGE sql
 STABLE
RETURN encode(sha256((((convert_to(identity, 'UTF8'::name) || int4send(pg_backend_pid())) || timestamptz_send(transaction_timestamp())) || secret)), 'hex'::text);

CREATE OR REPLACE FUNCTION app.second_factor_owed()
 RETURNS TABLE(brokerage_id uuid, brokerage_name text, has_one boolean)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return query select b.id, b.name, app.has_second_factor(app.user_id()) from public.brokerages b
    where b.id = any (app.barred_in(app.identity())) order by app.folded(b.name), b.id;
end
$function$;
GRANT EXECUTE ON FUNCTION app.second_factor_owed() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.seen_deal(deal uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  narrowed constant uuid := app.narrowed_to();
  participating uuid[];
  administered uuid[];
begin
  if narrowed is not null then
    return case when narrowed = deal and deal <> '00000000-0000-0000-0000-000000000000' then deal end;
  end if;
  participating := app.deals_as(variadic '{broker,seller,buyer,viewer}'::text[] || app.deal_scopes());
  administered := app.brokerages_as('admin');
  return (select d.id from public.deals d
    where d.id = deal and app.deal_is_visible(d.id, d.organization_id, participating, administered));
end
$function$;
GRANT EXECUTE ON FUNCTION app.seen_deal(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.sees_any(of_table text, records uuid[], deal uuid, gone boolean)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if gone then
    case of_table
      when 'documents', 'production_documents' then return app.saw_any_document(deal, records);
      -- What was open to these before.
      when 'public documents', 'nda_gated documents', 'selected_buyer_only documents' then
        return app.document_is_visible(deal, split_part(of_table, ' ', 1), app.seen_deal(deal) is not null,
          app.deals_as('broker', 'seller'), app.deals_under_nda(), app.deals_held_exclusively());
      when 'qoe_checklist', 'normalizations' then return deal = any (app.qoe_deals(false));
      when 'contradiction_answers' then return deal = any (app.deals_as('broker', 'seller'));
      when 'released_answers' then return deal = any (app.qoe_deals(false));
      when 'qoe_workspace_members' then
        return deal = any (app.deals_as('broker', 'seller'))
          or exists (select from public.participants p where p.id = any (records) and coalesce(p.advises, p.id) = any (app.principals()));
      when 'closing_conditions' then
        return deal = any (app.deals_as('broker', 'seller', 'viewer') || app.deals_as_selected_buyer())
          or exists (select from public.deals d where d.id = deal and d.organization_id = any (app.brokerages_as('admin')));
      when 'deal_opt_ins' then return app.user_id() = any (records);
      when 'deal_tool_stops' then return exists (select from public.deals d where d.id = deal);
      else return false;
    end case;
  end if;
  case of_table
    when 'deals' then return exists (select from public.deals r where r.id = any (records));
    when 'deal_stages' then return exists (select from public.deal_stages r where r.deal_id = any (records));
    when 'exclusivities' then return exists (select from public.exclusivities r where r.id = any (records));
    when 'participants' then return exists (select from public.participants r where r.id = any (records));
    when 'ndas' then return exists (select from public.ndas r where r.id = any (records));
    when 'documents' then return exists (select from public.documents r where r.id = any (records));
    when 'production_documents' then return exists (select from public.production_documents r where r.id = any (records));
    when 'document_openings' then return exists (select from public.document_openings r where r.id = any (records));
    when 'questions' then return exists (select from public.questions r where r.id = any (records));
    when 'question_answers' then return exists (select from public.question_answers r where r.question_id = any (records));
    when 'qoe_checklist' then return exists (select from public.qoe_checklist r where r.id = any (records));
    when 'accounting_snapshots' then return exists (select from public.accounting_snapshots r where r.id = any (records));
    when 'normalizations' then return exists (select from public.normalizations r where r.id = any (records));
    when 'contradiction_answers' then return exists (select from public.contradiction_answers r where r.id = any (records));
    when 'qoe_workspace_members' then return exists (select from public.qoe_workspace_members r
      where r.participant_id = any (records) and r.deal_id = deal);
    when 'offers', 'offer_decisions' then return exists (select from public.offers r where r.id = any (records));
    when 'closing_conditions' then return exists (select from public.closing_conditions r where r.id = any (records));
    when 'findings', 'finding_comments' then return exists (select from public.findings r where r.id = any (records));
    when 'financing_sources' then return exists (select from public.financing_sources r where r.id = any (records));
    when 'deal_opt_ins', 'notifications' then return app.user_id() = any (records);
    when 'deal_tool_stops' then return exists (select from public.deals r where r.id = any (records));
    else return false;
  end case;
end
$function$;
GRANT EXECUTE ON FUNCTION app.sees_any(text,uuid[],uuid,boolean) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.sees_change_events(seqs bigint[])
 RETURNS bigint[]
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return array(select e.seq from public.change_events e where e.brokerage_id = app.identity_part(4)::uuid and e.seq = any (seqs));
end
$function$;
GRANT EXECUTE ON FUNCTION app.sees_change_events(bigint[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.selected_side(deal_id uuid)
 RETURNS uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select s.participant_id from vault.selected_buyers s
    where s.deal_id = selected_side.deal_id
      and (s.deal_id = any (app.deals_as('broker', 'seller', 'conditions:write')) or s.participant_id = any (app.principals())));
end
$function$;
GRANT EXECUTE ON FUNCTION app.selected_side(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.service_state()
 RETURNS TABLE(events_waiting bigint, events_failing bigint, oldest_event_at timestamp with time zone, last_backup_at timestamp with time zone, last_backup_failure_at timestamp with time zone, last_backup_missing integer)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select e.waiting, e.failing, e.oldest, b.last_success_at, b.last_failure_at, coalesce(b.missing_documents, 0)
  from (
    select count(*) as waiting, count(*) filter (where e.last_error is not null) as failing, min(e.at) as oldest
    from (select e.at, e.last_error from vault.events e order by e.id limit 10000) e) e
  left join app.job_runs b on b.job = 'backup'
$function$;
GRANT EXECUTE ON FUNCTION app.service_state() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.session_goes_on()
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  session constant uuid := app.identity_part(6)::uuid;
begin
  perform from public.users u where u.id = app.user_id() for share;
  return session is null or exists (select from vault.sessions s where s.id = session and s.ended_at is null);
end
$function$;

CREATE OR REPLACE FUNCTION app.sessions_alive(ids uuid[])
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return query select l.id from vault.live_sessions l where l.id = any (ids);
end
$function$;
GRANT EXECUTE ON FUNCTION app.sessions_alive(uuid[]) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.sessions_concerned(deals uuid[], people uuid[], presented bytea)
 RETURNS TABLE(session_id uuid, digest bytea, of_deals uuid[])
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return query
    with concerned as (
      select p.user_id, p.deal_id from public.participants p where p.deal_id = any (deals)
      union all
      select m.user_id, d.id from public.deals d
        join public.members m on m.brokerage_id = d.organization_id and m.role = 'admin' and m.status = 'active'
        where d.id = any (deals)
      union all
      select person, null from unnest(people) person
    ), persons as (
      select c.user_id, array_agg(c.deal_id) as of_deals from concerned c group by c.user_id
    )
    select l.id, l.digest, p.of_deals from persons p
    join vault.live_sessions l on l.user_id = p.user_id
    where app.is_presented(l.digest, presented);
end
$function$;
GRANT EXECUTE ON FUNCTION app.sessions_concerned(uuid[],uuid[],bytea) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.set_currency()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.user_id() is not null and new.participant_id is not null then
    select d.currency into new.currency from public.deals d where d.id = new.deal_id;
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.set_currency_of_books()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  -- The same row decides the currency of all figures (server/domain/diligence/books.ts).
  new.currency := coalesce(new.currency, (
    select p.currency from public.pl_periods p
    join public.accounting_snapshots s on s.id = p.snapshot_id and s.status = 'completed'
    where p.deal_id = new.deal_id
    order by p.period_end_date desc, p.period_start_date desc, s.completed_at desc, s.id desc limit 1), (
    select d.currency from public.deals d where d.id = new.deal_id));
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.set_notification_settings(zone text, hour integer)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.user_id() is null or app.client_id() is not null then
    perform app.refuse('not_a_person', 'Sign in to choose your notifications.');
  end if;
  if not app.is_time_zone(zone) then
    perform app.refuse_value('time_zone', 'Choose a time zone from the list.');
  end if;
  insert into vault.notification_settings (user_id, time_zone, digest_hour) values (app.user_id(), zone, hour)
    on conflict (user_id) do update set time_zone = excluded.time_zone, digest_hour = excluded.digest_hour;
  update vault.notifications n set mail_due_at = app.next_digest(app.user_id())
    where n.user_id = app.user_id() and n.mail = 'daily' and n.mail_due_at is not null;
end $function$;
GRANT EXECUTE ON FUNCTION app.set_notification_settings(text,integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.set_side()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.user_id() is not null then
    select p.principal_id into new.participant_id from app.participations() p where p.deal_id = new.deal_id;
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.set_tenant_by_deal()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  -- The stage of a deal is written before the deal: a foreign key that is looked at in the end holds it to there being one.
  new.brokerage_id := coalesce((select d.organization_id from public.deals d where d.id = new.deal_id), new.brokerage_id);
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.set_tenant_by_finding()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  new.brokerage_id := (select f.brokerage_id from public.findings f where f.id = new.finding_id);
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.set_tenant_by_key()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  new.brokerage_id := case tg_table_name when 'webhook_endpoints' then app.brokerage_of_key(new.key_id)
    else (select k.brokerage_id from public.api_keys k where k.id = new.key_id) end;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.set_up(set_up_token bytea, brokerage_name text, brokerage_slug text, admin_email text, admin_name text, new_phc text, token bytea, earlier bytea, address inet, agent text, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  brokerage uuid;
  admin uuid;
begin
  -- Two people with two links: the second waits here and finds the brokerage made.
  lock table vault.set_up_links in exclusive mode;
  if not app.is_set_up_link(set_up_token) then
    return false;
  end if;
  insert into public.brokerages (name, slug) values (brokerage_name, brokerage_slug) returning id into brokerage;
  insert into public.users (email, name) values (lower(admin_email), admin_name) returning id into admin;
  insert into public.members (brokerage_id, user_id, role) values (brokerage, admin, 'admin');
  -- Whoever has the link holds the server: there is nobody else whose mailbox it could be.
  insert into vault.passwords (user_id, phc, address_proven_at) values (admin, new_phc, app.now());
  delete from vault.set_up_links;
  perform app.open_session(admin, token, earlier, 'set_up', address, agent, request_id);
  insert into public.audit_records (brokerage_id, user_id, action, outcome, address, request_id)
    values (brokerage, admin, 'brokerage.set_up', 'done', address, request_id);
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.set_up(bytea,text,text,text,text,text,bytea,bytea,inet,text,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.set_up_sandbox(of_brokerage uuid, anew boolean)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  identity constant text := coalesce(current_setting('dealkeep.identity', true), '');
  seal constant text := coalesce(current_setting('dealkeep.seal', true), '');
  sandbox uuid;
begin
  insert into public.brokerages (slug, name, sandbox_of, reset_at, admit_keys_by_default)
    select 'sandbox-' || replace(b.id::text, '-', ''), left(b.name, 190) || ' (sandbox)', b.id, app.now(), true
    from public.brokerages b where b.id = of_brokerage and b.sandbox_of is null
    on conflict (sandbox_of) do nothing returning id into sandbox;
  if sandbox is null and not anew then
    return;
  end if;
  perform set_config('dealkeep.identity', '', true), set_config('dealkeep.seal', '', true);
  if sandbox is null then
    update public.brokerages b set reset_at = app.now() where b.sandbox_of = of_brokerage returning b.id into sandbox;
    for attempt in 1..5 loop
      begin
        perform app.empty_sandbox(sandbox);
        exit;
      exception when foreign_key_violation then
        if attempt = 5 then
          raise;
        end if;
      end;
    end loop;
  end if;
  perform app.fill_sandbox(sandbox);
  perform set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', seal, true);
end
$function$;

CREATE OR REPLACE FUNCTION app.settle_deal()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  target text := new.state;
  written text := app.actual_state(old.id);
  present text := written;
begin
  new.state := old.state;
  if target = written then
    return new;
  end if;
  if written = 'exclusivity' and not app.exclusivity_runs(old.id) then
    present := 'listed';
    new.updated_at := app.now();  -- the fall back is written down with this move, and everybody may know of it
  end if;
  if target = 'exclusivity' and not app.exclusivity_runs(new.id) then
    perform app.refuse('exclusivity_missing', 'A deal enters exclusivity by granting it to a buyer until a date.');
  end if;
  if present = 'exclusivity' and target = 'listed' then
    perform app.refuse('exclusivity_runs', 'The exclusivity still runs: release it, and the deal is listed again.');
  end if;
  if target <> present and not exists (select from app.moves m
    where m.subject = 'deal' and m.from_state = present and m.to_state = target)
  then
    perform app.refuse('move_not_allowed', format('A deal cannot go from %s to %s.', present, target));
  end if;
  if target in ('exclusivity', 'diligence', 'closing') then
    insert into public.deal_stages as g (deal_id, state) values (new.id, target)
      on conflict (deal_id) do update set state = excluded.state, updated_at = excluded.updated_at;
    new.state := 'under_offer';
  else
    delete from public.deal_stages g where g.deal_id = new.id;
    new.state := target;
  end if;
  if target = 'closed' then
    new.closed_at := app.now();
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.side_knows(principal_id uuid, user_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  side public.participants;
begin
  -- By the deal and the person, not by the person alone, who may be on thousands.
  select s.* into side from public.participants s where s.id = side_knows.principal_id;
  return (side.deal_id = any (app.deals_as('broker', 'seller', 'conditions:write')) or side.id = any (app.principals())) and exists (
    select from public.participants p
    join public.deals d on d.id = p.deal_id
    where p.deal_id = side.deal_id and p.user_id = side_knows.user_id and (
      side.role <> 'buyer'
      or coalesce(p.advises, p.id) = side.id
      or (p.status = 'active' and (p.role = 'broker' or (p.role = 'seller' and (not d.needs_nda or exists (
        select from vault.active_ndas n where n.participant_id = side.id)))))));
end
$function$;
GRANT EXECUTE ON FUNCTION app.side_knows(uuid,uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.sign_in(given_email text, phc text, token bytea, earlier bytea, address inet, agent text, request_id text)
 RETURNS TABLE(outcome text, user_id uuid, email text, name text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  person public.users;
  known boolean;
begin
  select u.* into person from public.users u where u.email = lower(given_email);
  known := exists (select from vault.passwords p where p.user_id = person.id and p.phc = sign_in.phc);
  if known then
    -- Until nobody changes it any more.
    select u.* into person from public.users u where u.id = person.id for share;
    known := exists (select from vault.passwords p where p.user_id = person.id and p.phc = sign_in.phc);
  end if;
  if not known or person.suspended_at is not null then
    perform app.record(person.id, 'session.sign_in', 'refused',
      jsonb_build_object('reason', case when known then 'suspended' else 'password' end), address, request_id);
    return query select 'refused', null::uuid, null::text, null::text;
  elsif exists (select from vault.totp t where t.user_id = person.id and t.confirmed_at is not null) then
    insert into vault.sign_in_steps (digest, user_id) values (token, person.id);
    return query select 'second_factor', person.id, person.email, person.name;
  else
    perform app.open_session(person.id, token, earlier, 'password', address, agent, request_id);
    return query select 'signed_in', person.id, person.email, person.name;
  end if;
end
$function$;
GRANT EXECUTE ON FUNCTION app.sign_in(text,text,bytea,bytea,inet,text,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.sign_in_with_passkey(credential text, challenge bytea, new_counter bigint, token bytea, earlier bytea, address inet, agent text, request_id text)
 RETURNS TABLE(outcome text, user_id uuid, email text, name text)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  person public.users;
begin
  perform from public.users u where u.id = (select k.user_id from vault.passkeys k where k.credential_id = credential) for share;
  delete from vault.challenges c where c.digest = challenge and c.user_id is null and c.expires_at > app.now();
  if found then
    update vault.passkeys k set counter = new_counter, last_used_at = app.now()
      from public.users u
      where k.credential_id = credential and u.id = k.user_id and u.suspended_at is null
        and (new_counter > k.counter or (new_counter = 0 and k.counter = 0))
      returning u.* into person;
  end if;
  if person.id is null then
    perform app.record((select k.user_id from vault.passkeys k where k.credential_id = credential), 'session.sign_in', 'refused',
      '{"reason": "passkey"}', address, request_id);
    return query select 'refused', null::uuid, null::text, null::text;
    return;
  end if;
  perform app.open_session(person.id, token, earlier, 'passkey', address, agent,
    request_id);
  return query select 'signed_in', person.id, person.email, person.name;
end
$function$;
GRANT EXECUTE ON FUNCTION app.sign_in_with_passkey(text,bytea,bigint,bytea,bytea,inet,text,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.sign_nda(nda_id uuid, signed_name text, signed_address inet)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  deal uuid;
  part uuid;
  lapsed uuid[];
begin
  if length(trim(coalesce(sign_nda.signed_name, ''))) = 0 then
    perform app.refuse('name_missing', 'Enter your full name to sign.');
  end if;
  select n.participant_id into part
    from public.ndas n join public.participants p on p.id = n.participant_id and p.user_id = app.user_id() and p.status = 'active' and p.role = 'buyer'
    where n.id = nda_id and n.status = 'sent' and (n.expires_at is null or n.expires_at > app.now());
  if not found then
    return false;
  end if;
  -- What has ended has ended, with the places in the workspace, also where that was not noted yet.
  with ended as (
    update public.ndas n set status = 'expired' where n.participant_id = part and n.status = 'active' and n.expires_at <= app.now()
      returning n.id)
    select array(select e.id from ended e) into lapsed;
  update public.ndas n
    set status = 'active', signed_at = app.now(), signed_name = trim(sign_nda.signed_name),
      signed_address = sign_nda.signed_address
    from public.participants p
    where n.id = nda_id and p.id = n.participant_id and p.user_id = app.user_id() and p.status = 'active' and p.role = 'buyer'
      and n.status = 'sent' and (n.expires_at is null or n.expires_at > app.now())
    returning n.deal_id into deal;
  if not found then
    return false;
  end if;
  -- After the other has begun, so that nothing closes in between.
  update public.ndas n set status = 'expired', replaced_at = app.now() where n.participant_id = part and n.status = 'active' and n.id <> nda_id;
  -- The change has locked the deal: whoever withdraws it meanwhile was waited for, or waits.
  if app.actual_state(deal) = 'withdrawn' then
    perform app.refuse('deal_withdrawn', 'The deal is withdrawn: NDAs are no longer signed on it.');
  end if;
  -- Nobody ended it, as where a job notes it.
  insert into public.audit_records (brokerage_id, deal_id, action, subject_id, outcome)
    select d.organization_id, d.id, 'nda.expire', e.id::text, 'done' from unnest(lapsed) e (id) join public.deals d on d.id = deal;
  perform app.queue_ended_ndas(lapsed, null);
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.sign_nda(uuid,text,inet) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.sign_out(session bytea, address inet, request_id text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  person uuid;
begin
  update vault.sessions s set ended_at = app.now() where s.digest = session and s.ended_at is null
    returning s.user_id into person;
  if found then
    perform app.record(person, 'session.sign_out', 'done', null, address, request_id);
  end if;
end
$function$;
GRANT EXECUTE ON FUNCTION app.sign_out(bytea,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.sign_out_everywhere(session bytea, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  person uuid;
begin
  select r.user_id into person from app.recent_session(session) r;
  if not found then
    return false;
  end if;
  perform app.end_sessions_of(person);
  perform app.record(person, 'session.sign_out_everywhere', 'done', null, address, request_id);
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.sign_out_everywhere(bytea,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.stamp_completion()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if not (new.status = any (tg_argv)) then
    new.completed_at := null;
  elsif tg_op = 'INSERT' then
    new.completed_at := coalesce(new.completed_at, app.now());
  elsif not (old.status = any (tg_argv)) then
    new.completed_at := app.now();
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.stamp_contradiction_answer()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if (new.figures, new.status, new.why) is distinct from (old.figures, old.status, old.why) then
    new.answered_by := app.user_id();
    new.answered_at := app.now();
    new.released_at := null;
  elsif new.released_at is not null then
    new.released_at := coalesce(old.released_at, app.now());
  end if;
  new.released_by := case when new.released_at is null then null when old.released_at is null then app.user_id() else old.released_by end;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.stamp_correction()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  new.corrected_at := app.now();
  return new;
end $function$;

CREATE OR REPLACE FUNCTION app.standing(person uuid, barred uuid[], administered uuid[], deal uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  part record;
  tenant uuid;
begin
  select p.* into part from vault.parts p where p.user_id = person and p.deal_id = standing.deal;
  select d.organization_id into tenant from public.deals d where d.id = standing.deal;
  return app.standing_of(deal, tenant, barred, administered, part.participant_id, part.role, part.principal_id, part.principal_role);
end
$function$;

CREATE OR REPLACE FUNCTION app.standing_of(deal uuid, tenant uuid, barred uuid[], administered uuid[], participant uuid, role text, principal uuid, principal_role text)
 RETURNS text
 LANGUAGE sql
 STABLE
RETURN CASE WHEN ((participant IS NOT NULL) AND (tenant <> ALL (barred))) THEN concat_ws(','::text, deal, participant, role, principal, principal_role) ELSE concat(CASE WHEN (tenant = ANY (administered)) THEN deal ELSE '00000000-0000-0000-0000-000000000000'::uuid END, ',,,,') END;

CREATE OR REPLACE FUNCTION app.standing_of_key(brokerage uuid, scopes text[], deal uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  reached uuid;
begin
  select d.id into reached from public.deals d
    where d.id = deal and d.organization_id = brokerage and d.keys_admitted and scopes && app.deal_scopes();
  return concat(coalesce(reached, '00000000-0000-0000-0000-000000000000'), ',,,,');
end
$function$;

CREATE OR REPLACE FUNCTION app.state_now(deal_id uuid, state text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case when state in ('under_offer', 'exclusivity') and app.exclusivity_lapsed(deal_id) then 'listed' else state end;
end
$function$;
GRANT EXECUTE ON FUNCTION app.state_now(uuid,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.state_shown(deal_id uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return (
    select app.state_now(d.id, coalesce(g.state, d.state))
    from public.deals d left join public.deal_stages g on g.deal_id = d.id
    where d.id = state_shown.deal_id);
end
$function$;
GRANT EXECUTE ON FUNCTION app.state_shown(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.step_secret(step bytea)
 RETURNS TABLE(secret text, email text, user_id uuid)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return query
    select t.secret, u.email, u.id
    from vault.sign_in_steps s
    join public.users u on u.id = s.user_id
    join vault.totp t on t.user_id = s.user_id and t.confirmed_at is not null
    where s.digest = step and s.expires_at > app.now();
end
$function$;
GRANT EXECUTE ON FUNCTION app.step_secret(bytea) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.still_holds(told vault.notifications)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case
    when told.kind in ('nda_reminder', 'question_reminder', 'condition_reminder') then
      app.actual_state(told.deal_id) not in ('closed', 'withdrawn')
      and told.user_id in (select a from app.awaited(told.subject, told.subject_id) a)
    when told.kind in ('nda_ending', 'offer_expiring', 'exclusivity_ending', 'condition_due', 'condition_overdue') then
      app.is_deadline_near(told.kind, told.subject, told.subject_id, told.deal_id)
    else true end;
end
$function$;

CREATE OR REPLACE FUNCTION app.stop_deal_tools(deal_id uuid, stopped boolean, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.client_id() is not null or not stop_deal_tools.deal_id = any (app.deals_acting_as('broker')) then
    return false;
  end if;
  if stopped then
    insert into public.deal_tool_stops (deal_id, stopped_by) values (stop_deal_tools.deal_id, app.user_id())
      on conflict do nothing;
  else
    delete from public.deal_tool_stops s where s.deal_id = stop_deal_tools.deal_id;
  end if;
  if found then
    perform app.audit(case when stopped then 'deal_tools.stop' else 'deal_tools.allow' end, stop_deal_tools.deal_id::text, 'done',
      null, stop_deal_tools.deal_id, address, request_id, '{}');
  end if;
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.stop_deal_tools(uuid,boolean,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.subject_of(action text, details jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN (action = ANY (ARRAY['document.upload'::text, 'document.change'::text, 'document.restore'::text])) THEN CASE (details ->> 'source'::text) WHEN 'production'::text THEN 'production_documents'::text ELSE 'documents'::text END WHEN (action = ANY (ARRAY['question.ask'::text, 'question.release'::text, 'question.distribute'::text])) THEN 'questions'::text WHEN (action = 'question.answer'::text) THEN 'question_answers'::text WHEN (action = ANY (ARRAY['nda.send'::text, 'nda.sign'::text, 'nda.revoke'::text])) THEN 'ndas'::text WHEN (action = ANY (ARRAY['offer.submit'::text, 'offer.accept'::text, 'offer.accept_change'::text, 'offer.decline_change'::text])) THEN 'offers'::text WHEN (action = ANY (ARRAY['condition.add'::text, 'condition.change'::text])) THEN 'closing_conditions'::text WHEN (action = ANY (ARRAY['finding.add'::text, 'finding.assign'::text, 'finding.status'::text])) THEN 'findings'::text WHEN (action = ANY (ARRAY['participant.invite'::text, 'participant.remove'::text, 'invitation.accept'::text])) THEN 'participants'::text WHEN (action = 'deal.move'::text) THEN CASE WHEN ((details ->> 'to'::text) = ANY (ARRAY['listed'::text, 'closed'::text, 'withdrawn'::text])) THEN 'deals'::text ELSE 'deal_stages'::text END WHEN (action = ANY (ARRAY['exclusivity.grant'::text, 'exclusivity.extend'::text, 'exclusivity.lapse'::text, 'exclusivity.release'::text])) THEN 'exclusive_buyers'::text ELSE NULL::text END;
GRANT EXECUTE ON FUNCTION app.subject_of(text,jsonb) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.sweep()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  free uuid[];
  due uuid[];
  lapsed int;
  expired uuid[];
begin
  -- What somebody else is about to change is left for the next time.
  free := array(
    select d.id from public.deals d
    where d.id = any (array(
        select x.deal_id from vault.lapsing_exclusivities l join public.exclusivities x on x.id = l.exclusivity_id
        where l.expires_at <= app.now() order by l.expires_at limit 1000))
      and exists (select from public.deal_stages g where g.deal_id = d.id and g.state = 'exclusivity')
    for no key update skip locked);
  due := array(
    select x.id from public.exclusivities x
    where x.id = any (array(
        select l.exclusivity_id from vault.lapsing_exclusivities l where l.expires_at <= app.now() order by l.expires_at limit 1000))
      and x.expires_at <= app.now()
      and (x.deal_id = any (free) or not exists (select from public.deal_stages g where g.deal_id = x.deal_id and g.state = 'exclusivity'))
    for no key update skip locked);
  with ended as (
    update public.exclusivities x set ended_at = x.expires_at
      from public.deal_stages g
      where x.id = any (due) and x.deal_id = any (free) and g.deal_id = x.deal_id and g.state = 'exclusivity' and x.ended_at is null
      returning x.deal_id, x.participant_id)
    -- In the order of deals, of which each record holds a row of vault.deal_activity.
    insert into public.audit_records (brokerage_id, deal_id, action, subject_id, outcome)
      select d.organization_id, e.deal_id, 'exclusivity.lapse', e.participant_id::text, 'done'
      from ended e join public.deals d on d.id = e.deal_id order by e.deal_id;
  get diagnostics lapsed = row_count;
  -- Later in a sale it is kept until a broker releases it, but gives its buyer no more from its date on.
  perform app.queue_event('exclusivity_lapsed', x.deal_id, 'exclusivities', x.id, null, null)
    from public.exclusivities x join public.deal_stages g on g.deal_id = x.deal_id
    where x.id = any (due) and g.state in ('diligence', 'closing') and x.ended_at is null;
  delete from vault.lapsing_exclusivities l where l.exclusivity_id = any (due);
  free := array(
    select d.id from public.deals d
    where d.id = any (array(
        select e.deal_id from public.ndas e where e.status in ('sent', 'active') and e.expires_at <= app.now()
        order by e.expires_at limit 1000))
    for share skip locked);
  with ended as (
    update public.ndas n set status = 'expired'
      where n.id = any (array(
          select e.id from public.ndas e where e.status in ('sent', 'active') and e.expires_at <= app.now() and e.deal_id = any (free)
          order by e.expires_at limit 1000 for no key update skip locked))
        and n.status in ('sent', 'active') and n.expires_at <= app.now()
      returning n.id)
    select array(select e.id from ended e) into expired;
  insert into public.audit_records (brokerage_id, deal_id, action, subject_id, outcome)
    select d.organization_id, n.deal_id, 'nda.expire', n.id::text, 'done'
    from public.ndas n join public.deals d on d.id = n.deal_id where n.id = any (expired) order by n.deal_id;
  perform app.queue_ended_ndas(expired, null);
  return lapsed + cardinality(expired);
end
$function$;
GRANT EXECUTE ON FUNCTION app.sweep() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.switch_webhook_off(endpoint public.webhook_endpoints, error text)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  of_brokerage constant uuid := (select k.brokerage_id from public.api_keys k where k.id = endpoint.key_id);
begin
  update public.webhook_endpoints e set state = 'off', off_reason = 'failing', off_since = app.now(), updated_at = app.now() where e.id = endpoint.id;
  insert into public.audit_records (brokerage_id, action, subject_id, outcome) values (of_brokerage, 'webhook.off', endpoint.id::text, 'done');
  perform app.queue_mail('webhook_off', u.email, u.id, of_brokerage, null, false, jsonb_build_object('name', u.name,
      'brokerage', b.name || case when endpoint.brokerage_id <> of_brokerage then ' (sandbox)' else '' end,
      'host', app.host_of(endpoint.url), 'error', left(error, 200), 'webhook', endpoint.id), null, null)
    from public.members m join public.users u on u.id = m.user_id join public.brokerages b on b.id = m.brokerage_id
    where m.brokerage_id = of_brokerage and m.role = 'admin' and m.status = 'active' and u.suspended_at is null order by u.id;
end
$function$;

CREATE OR REPLACE FUNCTION app.take_code(person uuid, code_step bigint, device bytea)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  factor vault.totp;
  known boolean := app.is_known_device(person, device);
  failed int;
  failed_last timestamptz;
begin
  select t.* into factor from vault.totp t where t.user_id = person for update;
  failed := factor.failures;
  failed_last := factor.failed_at;
  if known then
    select k.code_failures, k.code_failed_at into failed, failed_last
      from vault.known_devices k where k.digest = device and k.user_id = person;
    -- A browser that has failed too often itself is one like any other.
    if failed >= 10 and failed_last > app.now() - interval '15 minutes' then
      known := false;
      failed := factor.failures;
      failed_last := factor.failed_at;
    end if;
  end if;
  if failed >= 10 and failed_last > app.now() - interval '15 minutes' then
    return false;
  end if;
  if code_step is null or code_step <= factor.last_step then
    if known then
      update vault.known_devices k set code_failures = k.code_failures + 1, code_failed_at = app.now()
        where k.digest = device and k.user_id = person;
    else
      update vault.totp t set failures = t.failures + 1, failed_at = app.now() where t.user_id = person;
    end if;
    return false;
  end if;
  update vault.totp t set last_step = code_step, failures = case when known then t.failures else 0 end,
    failed_at = case when known then t.failed_at end where t.user_id = person;
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION app.take_nda()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if not new.deal_id = any (app.deals_acting_as('broker')) then
    return new;  -- the owner, loading data; anybody else is turned away by the policy
  end if;
  if app.actual_state(new.deal_id) = 'withdrawn' then
    perform app.refuse('deal_withdrawn', 'The deal is withdrawn: NDAs are no longer sent on it.');
  end if;
  if not exists (select from public.participants p
    where p.id = new.participant_id and p.deal_id = new.deal_id and p.role = 'buyer' and p.status <> 'removed')
  then
    perform app.refuse('not_a_buyer', 'An NDA is sent to a buyer who takes part in the deal or is invited to it.');
  end if;
  if new.expires_at <= app.now() then
    perform app.refuse('expires_in_the_past', 'The NDA must end in the future, or not at all.');
  end if;
  if exists (select from public.ndas n
    where n.participant_id = new.participant_id and n.status = 'sent' and (n.expires_at is null or n.expires_at > app.now()))
  then
    perform app.refuse('nda_there_already', 'This buyer has a pending NDA: withdraw it first.');
  end if;
  -- One that ends can be followed by another, which replaces it when it is signed.
  if exists (select from public.ndas n where n.participant_id = new.participant_id and n.status = 'active' and n.expires_at is null) then
    perform app.refuse('nda_there_already', 'This buyer has an active NDA without an end: revoke it first.');
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.take_offer()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  deal_state text;
  last_in_the_way timestamptz;
begin
  if app.user_id() is null and new.buyer_user_id is not null then
    return new;  -- the owner, loading data
  end if;
  new.buyer_user_id := app.user_id();
  select p.id into new.participant_id from public.participants p
    where p.deal_id = new.deal_id and p.user_id = app.user_id() and p.role = 'buyer' and p.status = 'active';
  if not found then
    return new;  -- the policy refuses it
  end if;
  select d.state into deal_state from public.deals d where d.id = new.deal_id;
  if deal_state in ('draft', 'closed', 'withdrawn') then
    perform app.refuse('deal_takes_no_offers', case deal_state
      when 'draft' then 'This deal is not listed yet: offers can be made once a broker has listed it.'
      else format('The deal is %s and does not accept offers.', deal_state) end);
  end if;
  perform app.check_payload(new.payload);
  select o.submitted_at into last_in_the_way from public.offers o
    where o.deal_id = new.deal_id and o.buyer_user_id = new.buyer_user_id and o.submitted_at > app.now() - interval '1 day'
    order by o.submitted_at desc offset 19 limit 1;
  if found then
    perform app.refuse_until('too_many_today', 'At most 20 revisions a day on a deal: revise the offer again after %s.',
      last_in_the_way + interval '1 day');
  end if;
  select coalesce(max(o.revision_number), 0) + 1 into new.revision_number from public.offers o
    where o.deal_id = new.deal_id and o.buyer_user_id = new.buyer_user_id;
  new.is_current := true;
  update public.offers o set is_current = false
    where o.deal_id = new.deal_id and o.buyer_user_id = new.buyer_user_id and o.is_current;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.take_over_invitations(unused uuid, person uuid)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  brokerages uuid[];
  parts uuid[];
  withdrawn uuid[];
begin
  perform from public.members m where m.user_id in (unused, person) order by m.brokerage_id, m.user_id for no key update;
  perform app.lock_parts(unused);
  update public.members m set status = 'removed'
    where m.user_id = unused and m.status = 'invited'
      and exists (select from public.members o where o.brokerage_id = m.brokerage_id and o.user_id = person);
  withdrawn := array(
    select p.id from public.participants p
    where p.user_id = unused and p.status = 'invited'
      and exists (select from public.participants o where o.deal_id = p.deal_id and o.user_id = person));
  -- Their advisors first, who would otherwise leave as if the person had removed them.
  with gone as (
    update public.participants p set status = 'removed' from public.participants was
      where p.advises = any (withdrawn) and p.status <> 'removed' and was.id = p.id
      returning p.id, p.brokerage_id, p.deal_id, was.status)
  insert into public.audit_records (brokerage_id, deal_id, action, subject_id, outcome, details)
    select g.brokerage_id, g.deal_id, 'participant.remove', g.id::text, 'done', case when g.status = 'invited' then '{"withdrawn": true}' else '{}' end::jsonb
    from gone g;
  with gone as (
    update public.participants p set status = 'removed' where p.id = any (withdrawn) returning p.id, p.brokerage_id, p.deal_id)
  insert into public.audit_records (brokerage_id, deal_id, action, subject_id, outcome, details)
    select g.brokerage_id, g.deal_id, 'participant.remove', g.id::text, 'done', '{"withdrawn": true}' from gone g;
  brokerages := array(select m.brokerage_id from public.members m where m.user_id = unused and m.status = 'invited');
  update public.members m set user_id = person where m.user_id = unused and m.status = 'invited';
  parts := array(select p.id from public.participants p where p.user_id = unused and p.status = 'invited');
  update public.participants p set user_id = person where p.id = any (parts);
  with theirs as (
    update vault.invitations i set user_id = person
      where i.user_id = unused and (i.brokerage_id = any (brokerages) or i.participant_id = any (parts))
      returning i.digest)
  update vault.outbox o set recipient_id = person from theirs t where o.recipient_id = unused and o.link = t.digest;
  perform app.forget_accounts(array[unused]);
end
$function$;

CREATE OR REPLACE FUNCTION app.take_question()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  principal_role text;
  deal_state text;
begin
  if app.user_id() is null and new.asked_by is not null then
    return new;  -- the owner, loading data
  end if;
  new.asked_by := app.user_id();
  select p.principal_id, p.principal_role into new.participant_id, principal_role
    from app.participations() p where p.deal_id = new.deal_id;
  if not found then
    return new;
  end if;
  if principal_role <> 'buyer' then
    perform app.refuse('not_a_buyer', 'Questions are asked by the buyer''s side of a deal.');
  end if;
  select d.state into deal_state from public.deals d where d.id = new.deal_id;
  if deal_state in ('closed', 'withdrawn') then
    perform app.refuse('deal_over', format('The deal is %s and no longer accepts questions.', deal_state));
  end if;
  if not new.deal_id = any (app.deals_under_nda()) then
    perform app.refuse('no_active_nda', 'There is no active NDA for the buyer''s side on this deal. If one waits, the buyer signs it on the deal''s NDA page; otherwise ask a broker of the deal to send one.');
  end if;
  if not app.has_broker(new.deal_id) then
    perform app.refuse('no_broker_review', 'No broker is on this deal to review questions: ask the brokerage to assign one.');
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.tell(event vault.events)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  is_security constant boolean := (select k.security from app.notification_kinds k where k.kind = event.kind);
  people constant uuid[] := array(select c from app.candidates(event) c where is_security or c is distinct from event.actor_id);
begin
  insert into vault.notifications (event_id, user_id, kind, deal_id, subject, subject_id, actor_id, at, mail, mail_due_at)
    select event.id, p.id, event.kind, event.deal_id, event.subject, event.subject_id, event.actor_id, event.at,
      nullif(d.delivery, 'app'),
      case
        when d.delivery = 'daily' then app.next_digest(p.id)
        -- What concerns the security of an account never waits.
        when d.delivery = 'at_once' and is_security then app.now()
        -- The first goes at once, what follows on the same deal within five minutes together.
        when d.delivery = 'at_once' and event.deal_id is not null then greatest(app.now(), (
          select max(n.mailed_at) + interval '5 minutes' from vault.notifications n
          where n.user_id = p.id and n.deal_id = event.deal_id and n.mail = 'at_once' and n.mailed_at is not null))
        when d.delivery = 'at_once' then greatest(app.now(), (
          select max(n.mailed_at) + interval '5 minutes' from vault.notifications n
          where n.user_id = p.id and n.deal_id is null and n.mail = 'at_once' and n.mailed_at is not null))
      end
    from app.who_could_open(people, event.subject, event.subject_id, event.deal_id) p (id)
    cross join lateral (select app.delivery_of(p.id, event.kind, event.deal_id) as delivery offset 0) d
    where d.delivery <> 'off'
      -- Whoever has not seen yet that there is an answer finds the corrected one.
      and not (event.kind = 'question_answered' and exists (select from vault.notifications n
        where n.user_id = p.id and n.read_at is null and n.at > event.at - interval '1 day'
          and n.kind = event.kind and n.subject_id = event.subject_id))
    on conflict (event_id, user_id) do nothing;
end
$function$;

CREATE OR REPLACE FUNCTION app.tell_events(most integer)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  -- A statement that runs into its limit takes back what it has told, and would be given the same again.
  until constant timestamptz := statement_timestamp() + nullif(current_setting('statement_timeout')::interval, '0') / 4;
  event vault.events;
  taken int := 0;
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Events are told by the worker.');
  end if;
  for event in
    select e.* from vault.events e where e.next_attempt_at <= app.now() order by e.rank, e.next_attempt_at, e.id
      limit least(most, 100) for update skip locked
  loop
    taken := taken + 1;
    begin
      perform app.tell(event);
      delete from vault.events e where e.id = event.id;
    exception when others then
      if event.attempts >= 20 then
        delete from vault.events e where e.id = event.id;
      else
        update vault.events e set attempts = e.attempts + 1, last_error = left(sqlerrm, 500),
            next_attempt_at = app.now() + least(interval '1 minute' * 2 ^ least(e.attempts, 10), interval '6 hours')
          where e.id = event.id;
      end if;
    end;
    exit when clock_timestamp() > until;
  end loop;
  return taken;
end
$function$;
GRANT EXECUTE ON FUNCTION app.tell_events(integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.tell_who_joins()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  asked vault.brokerage_deletions;
begin
  -- Whoever announces the deletion meanwhile is waited for, or waits and tells this person, too.
  perform from public.brokerages b where b.id = new.brokerage_id for key share;
  select d.* into asked from vault.brokerage_deletions d
    where d.brokerage_id = new.brokerage_id and d.begun_at is null and d.due_at > app.now();
  -- Whoever had a part there already was told; of several deals joined at once the first one tells.
  if found
    and not exists (select from public.members m
      where m.brokerage_id = new.brokerage_id and m.user_id = new.user_id and m.status = 'active' and tg_table_name <> 'members')
    and not exists (select from public.participants p
      where p.user_id = new.user_id and p.brokerage_id = new.brokerage_id and p.status = 'active'
        and (p.joined_at < new.joined_at or p.joined_at = new.joined_at and p.deal_id < (to_jsonb(new) ->> 'deal_id')::uuid))
  then
    perform app.mail_deletion(new.brokerage_id, asked.asked_by, asked.due_at, false, new.user_id);
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.test_webhook(endpoint uuid, address inet, request_id text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  this constant public.webhook_endpoints := app.webhook_to_manage(endpoint);
  waiting int;
begin
  select count(*) into waiting from public.webhook_deliveries d where d.endpoint_id = this.id and d.object_id = this.id and d.state = 'waiting';
  if waiting >= 10 then
    perform app.refuse('too_many_tests', 'Ten test events are already waiting: find out why they are not accepted.');
  end if;
  perform app.write_deliveries(this.id, false, jsonb_build_array(jsonb_build_object('event_id', gen_random_uuid(), 'type', 'webhook.test',
    'object_type', 'webhook', 'object_id', this.id, 'occurred_at', app.now())));
  perform pg_notify('dealkeep_mail', '');
  perform app.audit('webhook.test', this.id::text, 'done', this.brokerage_id, null, address, request_id, '{}');
  return (
    select d.id from public.webhook_deliveries d
    where d.endpoint_id = this.id and d.object_id = this.id and d.state = 'waiting' order by d.nr desc limit 1);
end
$function$;
GRANT EXECUTE ON FUNCTION app.test_webhook(uuid,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.time_in(text text)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  return case when text ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d' then text::timestamptz end;
exception when data_exception then
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.times_of_mail(mail uuid)
 RETURNS TABLE(kind text, at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Mails are made by those who deliver them.');
  end if;
  return query
    select n.kind, max(n.at)
    from vault.outbox o
    cross join lateral jsonb_array_elements_text(o.facts -> 'notifications') i (id)
    join vault.notifications n on n.id = i.id::uuid and n.user_id = o.recipient_id
    join app.notification_kinds k on k.kind = n.kind and k.security
    where o.id = times_of_mail.mail and o.kind = 'notifications' and o.sent_at is null
    group by n.kind;
end
$function$;
GRANT EXECUTE ON FUNCTION app.times_of_mail(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.titles_in_sight(pattern text, at_most integer)
 RETURNS TABLE(title text, total integer)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_nestloop TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  administered constant uuid[] := app.brokerages_as('admin');
begin
  pattern := app.folded(pattern);
  return query
    select s.title, (count(*) over ())::int
    from (
      select o.title, o.created_at from vault.deals_of_people o
      where o.user_id = me and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed)
        and (pattern is null or app.folded(o.title) like pattern)
      union all
      select d.title, d.created_at from public.deals d
      where d.organization_id = any (administered) and (pattern is null or app.folded(d.title) like pattern)) s
    group by s.title order by max(s.created_at) desc, s.title limit at_most;
end
$function$;
GRANT EXECUTE ON FUNCTION app.titles_in_sight(text,integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.token_carries(scope text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return coalesce(scope = any (string_to_array(app.identity_part(5), ' ')), false);
end
$function$;

CREATE OR REPLACE FUNCTION app.tool_granted(tool text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return exists (select from public.tool_grants g
    where g.user_id = app.user_id() and g.client_id = app.client_id() and g.tool = tool_granted.tool
      and (g.expires_at is null or g.expires_at > app.now()));
end
$function$;

CREATE OR REPLACE FUNCTION app.touch()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  new.updated_at := app.now();
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.touch_stage()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if tg_op = 'INSERT' or (new.expires_at, new.ended_at) is distinct from (old.expires_at, old.ended_at) then
    update public.deal_stages g set updated_at = app.now() where g.deal_id = new.deal_id and g.updated_at < app.now();
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.track_contact()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
begin
  if old.erased_at is not null and (new.archived_at is null
    or (new.type, new.display_name, new.email, new.phone, new.external_id) is distinct from (old.type, old.display_name, old.email, old.phone, old.external_id))
  then
    perform app.refuse('contact_erased', 'This contact was erased for good: it cannot be changed or restored.');
  end if;
  new.version := old.version + 1;
  if new.archived_at is null then
    new.merged_into := null;
  end if;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION app.turn_off_webhooks(by_person uuid, in_brokerage uuid, made_with uuid)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  this record;
  turned int := 0;
begin
  -- In the order in which results of deliveries lock them.
  for this in
    select e.id, e.key_id, k.brokerage_id from public.webhook_endpoints e join public.api_keys k on k.id = e.key_id
    where e.state = 'on' and (in_brokerage is null or k.brokerage_id = in_brokerage) and e.id = any (array(
      select own.id from public.webhook_endpoints own where own.created_by = by_person
      union all
      select by_key.id from public.webhook_endpoints by_key where by_key.key_id = made_with and by_key.created_by is null
      union all
      select by_key.id from vault.api_key_digests d join public.webhook_endpoints by_key on by_key.key_id = d.key_id and by_key.created_by is null
        where d.issued_by = by_person and (d.valid_until is null or d.valid_until > app.now())))
    order by e.id for no key update of e
  loop
    update public.webhook_endpoints e set state = 'off', off_reason = 'asked', off_because = case when made_with is null then 'admin_gone' else 'key_rotated' end,
      off_since = app.now(), updated_at = app.now() where e.id = this.id;
    perform app.audit('webhook.update', this.id::text, 'done', this.brokerage_id, null, null, null, '{"state": "off"}');
    if made_with is null then
      perform app.queue_event('webhook_stopped', null, 'api_keys', this.key_id, null, null);
    end if;
    turned := turned + 1;
  end loop;
  return turned;
end
$function$;

CREATE OR REPLACE FUNCTION app.undelivered_mails(of_brokerage uuid)
 RETURNS TABLE(id uuid, kind text, recipient text, created_at timestamp with time zone, given_up boolean, attempts integer, next_attempt_at timestamp with time zone, last_error text)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if of_brokerage is null or not of_brokerage = any (app.brokerages_as('admin')) or app.client_id() is not null then
    return;
  end if;
  return query
    select o.id, o.kind, o.recipient, o.created_at, o.given_up_at is not null, o.attempts, o.next_attempt_at, o.last_error
    from vault.outbox o
    where o.brokerage_id = of_brokerage and o.sent_at is null and (o.link is null or app.is_live_link(o.link))
    order by o.created_at desc, o.id desc limit 200;
end
$function$;
GRANT EXECUTE ON FUNCTION app.undelivered_mails(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.unmark_brokerage(brokerage uuid, by_whom uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  marked vault.brokerage_deletions;
begin
  select d.* into marked from vault.brokerage_deletions d where d.brokerage_id = brokerage for update;
  if not found then
    return false;
  end if;
  if marked.begun_at is not null then
    perform app.refuse('deletion_begun', 'The deletion has begun and can no longer be canceled.');
  end if;
  delete from vault.brokerage_deletions d where d.brokerage_id = brokerage;
  perform app.mail_deletion(brokerage, by_whom, marked.due_at, true);
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION app.unnamed_actor(record uuid, recorded_at timestamp with time zone, deal uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.user_id() is null or (app.narrowed_to() is not null and app.narrowed_to() <> deal)
    or not exists (select from public.audit_records a
      where a.id = record and a.at = recorded_at and a.deal_id = deal and a.noted and a.key_id is not null)
  then
    return null;
  end if;
  -- Of this deal alone: all of those of the caller would be read for each record.
  return case when exists (select from vault.deals_of_people o where o.user_id = app.user_id() and o.deal_id = deal and o.role = 'broker')
      or (select d.organization_id from public.deals d where d.id = deal) = any (app.brokerages_as('admin'))
    then 'key' else 'brokerage' end;
end
$function$;
GRANT EXECUTE ON FUNCTION app.unnamed_actor(uuid,timestamp with time zone,uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.unread_notifications()
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET enable_sort TO 'off'
AS $function$
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  administered constant uuid[] := app.brokerages_as('admin');
begin
  if me is null or app.client_id() is not null or app.narrowed_to() is not null then
    return 0;
  end if;
  return (
    select count(*) from (
      select from (
        select n.subject, n.subject_id, s.standing
        from vault.notifications n
        left join lateral (
          select app.standing_of(o.deal_id, o.organization_id, barred, administered, o.participant_id, o.role, o.principal_id, o.side) as standing
          from vault.deals_of_people o where o.user_id = me and o.deal_id = n.deal_id and o.organization_id <> all (barred)
          union all
          select app.standing_of(d.id, d.organization_id, barred, administered, null, null, null, null)
          from public.deals d where n.kind = 'outside_broker' and d.id = n.deal_id and d.organization_id = any (administered) limit 1) s on true
        where n.user_id = me and n.read_at is null and (n.deal_id is null or s.standing is not null)
        order by n.at desc, n.id desc limit 400) n
      where n.subject is null or n.subject = 'deals' or app.could_open_as(n.subject, n.subject_id, n.standing, administered)
      limit 100) n);
end
$function$;
GRANT EXECUTE ON FUNCTION app.unread_notifications() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.unsubscribe(token text)
 RETURNS text[]
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  chosen record;
  of_day boolean;
begin
  select u.* into chosen from app.unsubscription(token) u;
  if not found then
    return null;
  end if;
  of_day := 'daily' = any (chosen.kinds);
  insert into vault.notification_choices as c (user_id, kind, delivery)
    select chosen.person, k.kind, 'app' from app.notification_kinds k
      left join vault.notification_choices own on own.user_id = chosen.person and own.kind = k.kind
      where (k.kind = any (chosen.kinds) and coalesce(own.delivery, k.delivery) in ('daily', 'at_once'))
        or (of_day and coalesce(own.delivery, k.delivery) = 'daily')
    on conflict (user_id, kind) do update set delivery = excluded.delivery;
  if of_day then
    update vault.deal_notification_choices c set delivery = 'app' where c.user_id = chosen.person and c.delivery = 'daily';
  end if;
  update vault.notifications n set mail_due_at = null
    where n.user_id = chosen.person and n.mail_due_at is not null and (n.kind = any (chosen.kinds) or (of_day and n.mail = 'daily'));
  return chosen.kinds;
end
$function$;
GRANT EXECUTE ON FUNCTION app.unsubscribe(text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.unsubscribe_kinds(token text)
 RETURNS text[]
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$ select u.kinds from app.unsubscription(token) u $function$;
GRANT EXECUTE ON FUNCTION app.unsubscribe_kinds(text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.unsubscribe_seal(person uuid, kinds text)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select encode(substring(sha256(convert_to('unsubscribe ' || person || ' ' || kinds, 'UTF8') || s.secret) for 16), 'hex')
  from vault.unsubscribe_secret s
$function$;

CREATE OR REPLACE FUNCTION app.unsubscribe_seals(person uuid, kinds text)
 RETURNS text[]
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select array_agg(encode(substring(sha256(convert_to('unsubscribe ' || person || ' ' || kinds, 'UTF8') || k.secret) for 16), 'hex')
    order by k.place)
  from vault.unsubscribe_secret s
  cross join lateral (values (1, s.secret), (2, case when s.previous_until > app.now() then s.previous end)) k (place, secret)
  where k.secret is not null
$function$;

CREATE OR REPLACE FUNCTION app.unsubscribe_token(person uuid, kinds text[])
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  select concat_ws('.', person, array_to_string(kinds, '+'), app.unsubscribe_seal(person, array_to_string(kinds, '+')))
$function$;

CREATE OR REPLACE FUNCTION app.unsubscription(token text)
 RETURNS TABLE(person uuid, kinds text[])
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
begin
  if length(token) > 800 or token !~ '^[0-9a-f-]{36}\.[a-z_+]+\.[0-9a-f]{32}$' then
    return;
  end if;
  if (split_part(token, '.', 3) = any (app.unsubscribe_seals(split_part(token, '.', 1)::uuid, split_part(token, '.', 2)))) is not true then
    return;
  end if;
  return query select split_part(token, '.', 1)::uuid, string_to_array(split_part(token, '.', 2), '+');
exception when data_exception then
  return;
end
$function$;

CREATE OR REPLACE FUNCTION app.upgrade_password(old_phc text, new_phc text)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
  update vault.passwords set phc = new_phc where phc = old_phc
$function$;
GRANT EXECUTE ON FUNCTION app.upgrade_password(text,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.upload_has_ended(snapshot uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select exists (select from public.accounting_snapshots s where s.id = snapshot and s.status in ('completed', 'failed')
    -- As its rows are added; looked for only where it has ended.
    and (s.deal_id = any ((select app.qoe_deals(true))::uuid[]) or s.deal_id = any ((select app.deals_acting_as('qoe:write'))::uuid[])))
$function$;
GRANT EXECUTE ON FUNCTION app.upload_has_ended(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.use_invitation(token bytea, person uuid, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  used vault.invitations;
  factor_required boolean;
begin
  select i.* into used from vault.invitations i where i.digest = token and i.user_id = person;
  if used.brokerage_id is not null then
    -- Whoever comes to require a second factor at this moment is waited for, or waits and finds the member.
    select b.requires_second_factor into factor_required from public.brokerages b where b.id = used.brokerage_id for share;
    if factor_required then
      perform from public.users u where u.id = person for no key update;
    end if;
    perform from public.members m where m.brokerage_id = used.brokerage_id and m.user_id = person for no key update;
  else
    perform from public.participants p where p.id = used.participant_id for no key update;
  end if;
  update vault.invitations i set used_at = app.now()
    where i.digest = token and i.user_id = person and i.used_at is null and i.expires_at > app.now()
    returning i.* into used;
  if not found then
    return false;
  end if;
  -- Whoever opens an account with the link has not entered, and is no member yet.
  if exists (select from public.participants p where p.id = used.participant_id and p.brokerage_id = any (app.barred_in(app.identity()))) then
    perform app.refuse_without_factor(person);
  end if;
  if used.brokerage_id is not null then
    update public.members m set status = 'active'
      where m.brokerage_id = used.brokerage_id and m.user_id = person and m.status = 'invited';
  else
    update public.participants p set status = 'active' where p.id = used.participant_id and p.status = 'invited';
  end if;
  if not found then
    perform app.refuse('invitation_withdrawn', 'This invitation was withdrawn. Ask for a new one.');
  end if;
  if factor_required then
    perform app.end_grants_without_factor(array[person], request_id);
  end if;
  if used.mailed then
    update vault.passwords p set address_proven_at = app.now() where p.user_id = person and p.address_proven_at is null;
  end if;
  if used.brokerage_id is not null then
    insert into public.audit_records (brokerage_id, user_id, action, outcome, address, request_id)
      values (used.brokerage_id, person, 'invitation.accept', 'done', address, request_id);
  else
    -- As app.audit() writes it of whoever has entered.
    insert into public.audit_records (brokerage_id, deal_id, user_id, action, subject_id, outcome, address, request_id)
      select d.organization_id, d.id, person, 'invitation.accept', p.id::text, 'done', address, request_id
      from public.participants p join public.deals d on d.id = p.deal_id where p.id = used.participant_id;
  end if;
  return true;
end
$function$;

CREATE OR REPLACE FUNCTION app.user_id()
 RETURNS uuid
 LANGUAGE sql
 STABLE
RETURN (app.identity_part(1))::uuid;
GRANT EXECUTE ON FUNCTION app.user_id() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.uuid_v7()
 RETURNS uuid
 LANGUAGE sql
 PARALLEL SAFE
RETURN ((OVERLAY(lpad(to_hex((trunc((EXTRACT(epoch FROM clock_timestamp()) * (4096000)::numeric)))::bigint), 15, '0'::text) PLACING '7'::text FROM 13 FOR 0) || substr((gen_random_uuid())::text, 20)))::uuid;
GRANT EXECUTE ON FUNCTION app.uuid_v7() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.visit(deal uuid, of_tab text)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  now constant timestamptz := app.now();
  earlier timestamptz;
begin
  if app.user_id() is null or app.client_id() is not null or app.seen_deal(deal) is null then
    return null;
  end if;
  insert into vault.visits as v (user_id, deal_id, tab) values (app.user_id(), deal, of_tab)
    on conflict (user_id, deal_id, tab) do update set before_at = v.began_at, began_at = excluded.began_at
      where v.began_at <= now - interval '30 minutes';
  select v.before_at into earlier from vault.visits v where v.user_id = app.user_id() and v.deal_id = deal and v.tab = of_tab;
  return earlier;
end
$function$;
GRANT EXECUTE ON FUNCTION app.visit(uuid,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.waiting_places()
 RETURNS TABLE(participant_id uuid, brokerage_name text, deal_title text, joined_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  me constant uuid := app.user_id();
  -- Where they see the deal, it is among those of their lists.
  unseen constant uuid[] := array(select p.id from public.participants p
    where p.user_id = me and p.status = 'active' and p.advises is not null
      and not exists (select from vault.deals_of_people o where o.user_id = me and o.deal_id = p.deal_id));
begin
  if app.client_id() is not null then
    return;
  end if;
  return query
    select p.id, b.name, d.title, p.joined_at
    from public.participants p
    join public.participants a on a.id = p.advises and a.status <> 'active'
    join public.deals d on d.id = p.deal_id
    join public.brokerages b on b.id = d.organization_id
    where p.id = any (unseen)
      and not d.organization_id = any (app.barred_in((select app.identity())))
      and not exists (select from vault.deletions_begun g where g.brokerage_id = d.organization_id)
    order by p.joined_at desc, p.id desc limit 200;
end
$function$;
GRANT EXECUTE ON FUNCTION app.waiting_places() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.wake_webhooks()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if exists (select from public.webhook_endpoints e where e.state = 'on' and e.queue_at is distinct from 'infinity'::timestamptz) then
    perform pg_notify('dealkeep_mail', '');
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.watch_exclusivity()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if new.ended_at is null then
    insert into vault.lapsing_exclusivities as known (exclusivity_id, expires_at) values (new.id, new.expires_at)
      on conflict (exclusivity_id) do update set expires_at = excluded.expires_at;
  else
    delete from vault.lapsing_exclusivities l where l.exclusivity_id = new.id;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.webhook_to_manage(endpoint uuid)
 RETURNS public.webhook_endpoints
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  found public.webhook_endpoints;
begin
  select e.* into found from public.webhook_endpoints e join public.api_keys k on k.id = e.key_id
    where e.id = endpoint and e.removed_at is null and app.client_id() is null
      and (k.brokerage_id = any (app.brokerages_as('admin'))
        or (e.key_id = app.key_id() and e.brokerage_id = app.key_brokerage('webhooks:write')))
    for no key update of e;
  if found.id is null then
    perform app.refuse('webhook_not_found', 'There is no such webhook.');
  end if;
  found.brokerage_id := (select k.brokerage_id from public.api_keys k where k.id = found.key_id);
  return found;
end
$function$;

CREATE OR REPLACE FUNCTION app.who_could_open(people uuid[], of_table text, record uuid, deal uuid)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
AS $function$
declare
  tenant constant uuid := (select d.organization_id from public.deals d where d.id = deal);
begin
  return query
    select p.id
    from unnest(people) p (id)
    cross join lateral app.memberships_of(p.id) m
    cross join lateral (select case when m.asking <> '{}' and app.has_second_factor(p.id) then '{}' else m.asking end as barred offset 0) b
    cross join lateral (select array(select a from unnest(m.administered) a where a <> all (b.barred)) as administered offset 0) a
    left join vault.deals_of_people o on o.user_id = p.id and o.deal_id = who_could_open.deal
    cross join lateral (select case when deal is not null then
      app.standing_of(deal, tenant, b.barred, a.administered, o.participant_id, o.role, o.principal_id, o.side) end as standing offset 0) s
    where not exists (select from public.users u where u.id = p.id and u.suspended_at is not null)
      and (deal is null or split_part(s.standing, ',', 1) = deal::text)
      and app.could_open_as(of_table, record, s.standing, a.administered);
end
$function$;

CREATE OR REPLACE FUNCTION app.whole_identity()
 RETURNS text
 LANGUAGE sql
 STABLE
RETURN array_to_string((string_to_array(app.identity(), ','::text))[1:7], ','::text);

CREATE OR REPLACE FUNCTION app.widen()
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.narrowed_to() is not null then
    perform app.seal(app.whole_identity());
  end if;
end
$function$;
GRANT EXECUTE ON FUNCTION app.widen() TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.with_duplicates(contacts uuid[])
 RETURNS uuid[]
 LANGUAGE sql
 STABLE
 SET search_path TO ''
AS $function$
  -- Duplicates have another address or none: whatever was merged into the same contact is about the same person. No contact is merged into one that was itself merged.
  with same as (
    select k.id from unnest(contacts) k (id)
    union
    select c.merged_into from public.contacts c where c.id = any (contacts) and c.type = 'person' and c.merged_into is not null)
  select coalesce(array_agg(a.id), '{}') from (
    select s.id from same s
    union
    select c.id from public.contacts c where c.merged_into = any (array(select s.id from same s)) and c.type = 'person') a
$function$;

CREATE OR REPLACE FUNCTION app.withdraw_tool(client_id uuid, tool text, address inet, request_id text)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  person constant uuid := app.user_id();
begin
  if app.client_id() is not null then
    return false;
  end if;
  delete from public.tool_grants g
    where g.user_id = person and g.client_id = withdraw_tool.client_id and g.tool = withdraw_tool.tool;
  if not found then
    return false;
  end if;
  perform app.audit('tool_grant.off', withdraw_tool.client_id::text, 'done',
    app.brokerage_of_grant(person, withdraw_tool.client_id), null, address, request_id, jsonb_build_object('tool', tool));
  return true;
end
$function$;
GRANT EXECUTE ON FUNCTION app.withdraw_tool(uuid,text,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.write_contact(act text, target uuid, external text, given jsonb, tags text[], address inet, request_id text)
 RETURNS TABLE(outcome text, id uuid, type text, display_name text, email text, phone text, external_id text, archived_at timestamp with time zone, merged_into uuid, erased_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone, tag text)
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  brokerage constant uuid := (app.brokerages_for('contacts:write'))[1];
  c public.contacts;
  before public.contacts;
  changed text[] := '{}';
begin
  if app.key_id() is null or brokerage is null then
    return;
  end if;
  outcome := 'not_found';
  if target is not null then
    select k.* into c from public.contacts k where k.id = target for update;
  elsif external is not null then
    -- One that was merged leads to the other, which alone is locked: a merge locks both, in the order of their ids. What changes meanwhile is looked up anew.
    for look in 1..5 loop
      select k.* into c from public.contacts k where k.brokerage_id = brokerage and k.external_id = external;
      exit when c.id is null;
      select k.* into c from public.contacts k
        where k.id = coalesce(c.merged_into, c.id) and k.merged_into is null and (c.merged_into is not null or k.external_id = external) for update;
      exit when c.id is not null;
    end loop;
  end if;

  if c.id is null and act in ('create', 'put') then
    if tags is not null then
      outcome := 'stale';
    else
      insert into public.contacts as k (brokerage_id, type, display_name, email, phone, external_id)
        values (brokerage, given ->> 'type', given ->> 'displayName', given ->> 'email', given ->> 'phone', coalesce(external, given ->> 'externalId'))
        on conflict (brokerage_id, external_id) where external_id is not null do nothing
        returning k.* into c;
      if c.id is not null then
        outcome := 'created';
        perform app.audit('contact.create', c.id::text, 'done', brokerage, null, address, request_id, jsonb_build_object('type', c.type));
      elsif act = 'put' then
        -- Somebody made it meanwhile.
        return query select w.* from app.write_contact(act, target, external, given, tags, address, request_id) w;
        return;
      else
        outcome := 'taken';
        select k.* into c from public.contacts k where k.brokerage_id = brokerage and k.external_id = coalesce(external, given ->> 'externalId');
      end if;
    end if;
  elsif c.id is null then
    outcome := 'not_found';
  elsif act in ('change', 'put', 'restore') and c.erased_at is not null then
    outcome := 'erased';
  elsif act in ('change', 'put') and c.archived_at is not null then
    outcome := 'archived';
  elsif not (array[app.contact_tag(c.id, c.version, c.updated_at), '*'] && tags) then
    outcome := 'stale';
  else
    before := c;
    if act in ('change', 'put') then
      c.type := case when given ? 'type' then given ->> 'type' else c.type end;
      c.display_name := case when given ? 'displayName' then given ->> 'displayName' else c.display_name end;
      c.email := case when given ? 'email' then given ->> 'email' else c.email end;
      c.phone := case when given ? 'phone' then given ->> 'phone' else c.phone end;
      c.external_id := case when given ? 'externalId' then given ->> 'externalId' else c.external_id end;
    else
      c.archived_at := case when act = 'archive' then coalesce(c.archived_at, app.now()) end;
    end if;
    changed := array_remove(array[
      case when c.type <> before.type then 'type' end,
      case when c.display_name <> before.display_name then 'displayName' end,
      case when c.email is distinct from before.email then 'email' end,
      case when c.phone is distinct from before.phone then 'phone' end,
      case when c.external_id is distinct from before.external_id then 'externalId' end,
      case when c.archived_at is distinct from before.archived_at then 'archivedAt' end], null);
    outcome := case when changed = '{}' then 'unchanged' else 'done' end;
    if changed <> '{}' then
      begin
        update public.contacts k set type = c.type, display_name = c.display_name, email = c.email, phone = c.phone,
          external_id = c.external_id, archived_at = c.archived_at where k.id = c.id returning k.* into c;
      exception when unique_violation then
        outcome := 'taken';
        select k.* into c from public.contacts k where k.brokerage_id = brokerage and k.external_id = given ->> 'externalId';
      end;
    end if;
    if outcome <> 'taken' then
      perform app.audit('contact.' || case act when 'archive' then 'archive' when 'restore' then 'restore' else 'update' end,
        c.id::text, 'done', brokerage, null, address, request_id, jsonb_build_object('changed', to_jsonb(changed)));
    end if;
  end if;
  return query select outcome, c.id, c.type, c.display_name, c.email, c.phone, c.external_id, c.archived_at::timestamptz, c.merged_into, c.erased_at::timestamptz,
    c.created_at::timestamptz, c.updated_at::timestamptz, app.contact_tag(c.id, c.version, c.updated_at);
end
$function$;
GRANT EXECUTE ON FUNCTION app.write_contact(text,uuid,text,jsonb,text[],inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.write_contacts(items jsonb, address inet, request_id text)
 RETURNS TABLE(outcome text, id uuid, type text, display_name text, email text, phone text, external_id text, archived_at timestamp with time zone, merged_into uuid, erased_at timestamp with time zone, created_at timestamp with time zone, updated_at timestamp with time zone, tag text)
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
#variable_conflict use_column
declare
  item jsonb;
  w record;
  counts jsonb := '{}';
begin
  -- Batches and merges of a brokerage come one after the other: with the same contacts in another order, each would wait for the other.
  perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('contacts ' || b.id, 0)) from unnest(app.brokerages_for('contacts:write')) b (id)
    where app.key_id() is not null;
  for item in select i.value from jsonb_array_elements(items) with ordinality i order by i.ordinality loop
    for w in
      select * from app.write_contact(item ->> 'act', (item ->> 'id')::uuid, item ->> 'externalId', item -> 'given',
        case when item ? 'tags' then array(select jsonb_array_elements_text(item -> 'tags')) end, address, request_id)
    loop
      counts := counts || jsonb_build_object(w.outcome, coalesce((counts ->> w.outcome)::int, 0) + 1);
      return query select w.outcome, w.id, w.type, w.display_name, w.email, w.phone, w.external_id, w.archived_at, w.merged_into, w.erased_at,
        w.created_at, w.updated_at, w.tag;
    end loop;
  end loop;
  if app.key_id() is not null then
    perform app.audit('contact.batch', null, 'done', null, null, address, request_id, counts);
  end if;
end
$function$;
GRANT EXECUTE ON FUNCTION app.write_contacts(jsonb,inet,text) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.write_deliveries(endpoint uuid, again boolean, events jsonb)
 RETURNS integer
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  now constant timestamptz := app.now();
  written int;
begin
  insert into public.webhook_deliveries (endpoint_id, seq, event_id, type, object_type, object_id, about_deal, occurred_at, is_again, next_attempt_at)
    select e.id, g.seq, g.event_id, g.type, g.object_type, g.object_id, g.about_deal, g.occurred_at, again,
      case when g.nth = 1 and not exists (select from public.webhook_deliveries d
        where d.endpoint_id = e.id and d.object_id = g.object_id and d.state = 'waiting') then now end
    from public.webhook_endpoints e
    cross join (
      select r.*, row_number() over (partition by r.object_id order by r.place) as nth
      from rows from (jsonb_to_recordset(events) as (seq bigint, event_id uuid, type text, object_type text, object_id uuid, about_deal uuid,
        occurred_at timestamptz)) with ordinality r (seq, event_id, type, object_type, object_id, about_deal, occurred_at, place)) g
    where e.id = endpoint
    order by g.place;
  get diagnostics written = row_count;
  if written > 0 then
    -- Whoever has claimed it sets it when they are done.
    update public.webhook_endpoints e set send_at = greatest(now, e.rests_until)
      where e.id = endpoint and (e.claimed_until is null or e.claimed_until <= now) and (e.send_at is null or e.send_at > greatest(now, e.rests_until));
  end if;
  return written;
end
$function$;

CREATE OR REPLACE FUNCTION app.write_deliveries_again(endpoint public.webhook_endpoints, ended uuid[], address inet, request_id text)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO ''
AS $function$
declare
  chosen jsonb;
  written int;
begin
  if 10000 <= (select count(*) from (select from public.webhook_deliveries d where d.endpoint_id = endpoint.id and d.state = 'waiting' limit 10000) w) then
    perform app.refuse('too_many_deliveries', '10,000 deliveries are already waiting: wait until they are accepted.');
  end if;
  select jsonb_agg(to_jsonb(o) - 'nr' order by o.seq nulls first, o.nr) into chosen from (
    select distinct on (d.event_id) d.nr, d.seq, d.event_id, d.type, d.object_type, d.object_id, d.about_deal, d.occurred_at
    from public.webhook_deliveries d
    where d.id = any (ended) and d.endpoint_id = endpoint.id and d.state <> 'waiting'
    order by d.event_id, d.nr) o;
  if chosen is null then
    return 0;
  end if;
  written := app.write_deliveries(endpoint.id, true, chosen);
  perform pg_notify('dealkeep_mail', '');
  perform app.audit('webhook.redeliver', endpoint.id::text, 'done', endpoint.brokerage_id, null, address, request_id, jsonb_build_object('deliveries', written));
  return written;
end
$function$;

CREATE OR REPLACE FUNCTION app.written_books(deal uuid, most_uploads integer, most_periods integer, most_customers integer, most_adjustments integer)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
begin
  return (
    with uploads as materialized (
      select s.id, s.completed_at, s.source_name from public.accounting_snapshots s
      where s.deal_id = deal and s.status = 'completed'
      order by s.completed_at desc, s.id desc limit most_uploads
    ), listing as materialized (
      select u.id, sum(counted.rows) over (order by u.completed_at desc, u.id desc) as rows
      from uploads u cross join lateral (
        select count(*) as rows from public.customer_revenues c
        where most_customers > 0 and c.deal_id = deal and c.snapshot_id = u.id) counted
    )
    select json_build_object(
      'currency', d.currency,
      'uploads', (
        select coalesce(json_agg(json_build_object('id', u.id,
          'completed_at', to_char(u.completed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'source_name', u.source_name)), '[]')
        from uploads u),
      'periods', (
        select coalesce(json_agg(json_build_object('id', p.id, 'snapshot_id', p.snapshot_id, 'label', p.period_label,
          'first', p.period_start_date, 'last', p.period_end_date, 'currency', p.currency,
          'amounts', json_build_array(p.revenue::text, p.cost_of_goods_sold::text, p.gross_profit::text, p.operating_expenses::text,
            p.owner_compensation::text, p.depreciation_amortization::text, p.interest_expense::text, p.tax_expense::text,
            p.net_income::text, p.ebitda::text))), '[]')
        from (
          select p.* from public.pl_periods p join uploads u on u.id = p.snapshot_id
          where p.deal_id = deal
          order by u.completed_at desc, p.period_start_date desc, p.id desc limit most_periods) p),
      'customers', (
        select coalesce(json_agg(json_build_object('snapshot_id', c.snapshot_id, 'first', c.period_start_date, 'last', c.period_end_date,
          'currency', c.currency, 'ids', c.ids, 'names', c.names, 'revenues', c.revenues)), '[]')
        from (
          select c.snapshot_id, c.period_start_date, c.period_end_date, c.currency, string_agg(c.id::text, ' ') as ids,
            array_agg(c.customer_name) as names, string_agg(c.revenue_total::text, ' ') as revenues
          from public.customer_revenues c
          where most_customers > 0 and c.deal_id = deal
            and c.snapshot_id in (select l.id from listing l where l.rows <= most_customers)
          group by c.snapshot_id, c.period_start_date, c.period_end_date, c.currency) c),
      'adjustments', (
        select coalesce(json_agg(json_build_object('id', n.id, 'period_label', n.period_label, 'category', n.adjustment_category,
          'amount', n.adjustment_amount::text, 'currency', n.currency, 'rationale', n.rationale)), '[]')
        from (
          select n.* from public.normalizations n where n.deal_id = deal
          order by n.created_at desc, n.id desc limit most_adjustments) n))::text
    from public.deals d where d.id = deal);
end $function$;
GRANT EXECUTE ON FUNCTION app.written_books(uuid,integer,integer,integer,integer) TO dealkeep_server;

CREATE OR REPLACE FUNCTION app.zone_of_mail(mail uuid)
 RETURNS text
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  if app.identity() is not null then
    perform app.refuse('entered', 'Mails are made by those who deliver them.');
  end if;
  return (
    select s.time_zone from vault.outbox o join vault.notification_settings s on s.user_id = o.recipient_id
    where o.id = zone_of_mail.mail and o.kind <> 'address_change');
end
$function$;
GRANT EXECUTE ON FUNCTION app.zone_of_mail(uuid) TO dealkeep_server;

CREATE OR REPLACE FUNCTION vault.contact_has(patterns text[])
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
 SET search_path TO ''
AS $function$
  select string_agg(case when p.pattern ~ '^%[0-9+()./-]+%$' and d.digits <> '' and p.pattern <> '%' || d.digits || '%'
      then format('(%1$s like %2$L or %1$s like %3$L)', w.words, p.pattern, '%' || d.digits || '%')
      else format('%s like %L', w.words, p.pattern) end, ' and ')
  from (select distinct app.folded(u) as pattern from unnest(patterns) u) p
  cross join lateral (select regexp_replace(p.pattern, '[^0-9]', '', 'g') as digits) d
  cross join (select 'app.contact_words(c.display_name, c.email, c.phone)' as words) w
$function$;

CREATE OR REPLACE FUNCTION vault.digest_of_books(deal uuid, is_member boolean, most_uploads integer, most_adjustments integer)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return (
    select encode(sha256(concat_ws(' ', d.id, d.currency,
      (select string_agg(concat_ws(' ', u.id, u.completed_at), ' ') from (
        select s.id, s.completed_at from public.accounting_snapshots s
        where is_member and s.deal_id = deal and s.status = 'completed'
        order by s.completed_at desc, s.id desc limit most_uploads) u), 'adjusted by',
      (select string_agg(n.id::text, ' ') from (
        select n.id from public.normalizations n where is_member and n.deal_id = deal
        order by n.created_at desc, n.id desc limit most_adjustments) n))::bytea), 'hex')
    from public.deals d where d.id = deal);
end
$function$;

CREATE OR REPLACE PROCEDURE vault.give_tenant(IN to_table regclass, IN parent text, IN parent_table regclass, IN tenant text)
 LANGUAGE plpgsql
AS $procedure$
declare
  together constant int := 50;
  pages constant bigint := pg_relation_size(to_table) / current_setting('block_size')::int;
  fill constant text := format('update %s r set brokerage_id = p.%I from %s p where p.id = r.%I and r.brokerage_id is null',
    to_table, tenant, parent_table, parent);
  page bigint := 0;
  missed tid[];
begin
  execute format('alter table %s add column if not exists brokerage_id uuid', to_table);
  execute format('create or replace trigger set_tenant before insert or update of %I, brokerage_id on %s for each row execute function app.%I()',
    parent, to_table, 'set_tenant_by_' || replace(parent, '_id', ''));
  commit;
  loop
    if page > pages then
      -- What somebody has changed meanwhile lies elsewhere since: it is looked for without a lock.
      execute format('select array(select r.ctid from %s r where r.brokerage_id is null limit 500)', to_table) into missed;
      exit when missed = '{}';
    end if;
    execute format('alter table %s disable trigger user', to_table);
    execute fill || case when page > pages then format(' and r.ctid = any (%L::tid[])', missed)
      else format(' and r.ctid >= %L::tid and r.ctid < %L::tid', format('(%s,0)', page), format('(%s,0)', page + together)) end;
    execute format('alter table %s enable trigger user', to_table);
    commit;
    page := page + together;
  end loop;
  -- With a condition that is known to hold, PostgreSQL takes the column as never null without a look at the rows.
  execute format('alter table %s drop constraint if exists has_tenant', to_table);
  execute format('alter table %s add constraint has_tenant check (brokerage_id is not null) not valid', to_table);
  commit;
  execute format('alter table %s validate constraint has_tenant', to_table);
  commit;
  execute format('alter table %s alter brokerage_id set not null', to_table);
  execute format('alter table %s drop constraint has_tenant', to_table);
end
$procedure$;

CREATE OR REPLACE FUNCTION vault.key_in_force(presented bytea)
 RETURNS TABLE(key_id uuid, brokerage_id uuid, is_test boolean, scopes text[], ceiling integer)
 LANGUAGE sql
 STABLE
AS $function$
  -- Without its sandbox a test key works on nothing.
  select k.id, case k.environment when 'test' then (select s.id from public.brokerages s where s.sandbox_of = k.brokerage_id) else k.brokerage_id end,
    k.environment = 'test', app.scopes_of(k.scopes, m.role), k.ceiling
  from (select g.key_id, g.issued_by from vault.api_key_digests g
    where g.digest = presented and (g.valid_until is null or g.valid_until > app.now()) offset 0) d
  cross join lateral (select g.id, g.brokerage_id, g.environment, g.scopes, g.ceiling from public.api_keys g
    where g.id = d.key_id and g.revoked_at is null and (g.expires_at is null or g.expires_at > app.now()) offset 0) k
  cross join lateral (select from public.users g where g.id = d.issued_by and g.suspended_at is null offset 0) u
  cross join lateral (select g.role from public.members g
    where g.brokerage_id = k.brokerage_id and g.user_id = d.issued_by and g.status = 'active' offset 0) m
  cross join lateral (select from public.brokerages g where g.id = k.brokerage_id
    and (not g.requires_second_factor or app.has_second_factor(d.issued_by)) offset 0) b
$function$;

CREATE OR REPLACE FUNCTION vault.name_in(display_name text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN lower(CASE WHEN (length(display_name) <= 200) THEN NORMALIZE(display_name) ELSE display_name END);

CREATE OR REPLACE FUNCTION vault.number_in(phone text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
RETURN COALESCE(NULLIF(regexp_replace(phone, '[^0-9]'::text, ''::text, 'g'::text), ''::text), lower(phone), ''::text);

CREATE OR REPLACE FUNCTION vault.offers_told(deal uuid, side text, principal uuid)
 RETURNS json
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  of_deal_side constant boolean := side in ('broker', 'seller');
  agreed uuid;
begin
  -- On most deals nothing was accepted, and what is agreed is found in five tables.
  if exists (select from public.offer_decisions c where c.deal_id = deal and c.decision = 'accepted') then
    agreed := app.accepted_offer(deal);
  end if;
  return (
    select json_agg(json_build_array(o.id, o.buyer_user_id, o.revision_number, o.is_current, o.submitted_at::text, o.payload::text,
      case when b.joined_at is not null then (
        select json_build_array(k.id, coalesce(b.left_name, k.name), b.role) from public.users k where k.id = o.buyer_user_id) end,
      (select json_build_array(c.decision, c.decided_at::text) from public.offer_decisions c where c.offer_id = o.id),
      coalesce(o.id = agreed, false),
      o.is_current and (b.role = 'buyer' and b.status = 'active') is not true, o.participant_id,
      -- Whoever sees an offer sees the sources of financing of its side. Those that ended count in no total.
      case when o.is_current or o.id = agreed then (
        select json_agg(json_build_array(t.source_type, t.currency, t.total) order by t.source_type, t.currency) from (
          select s.source_type, s.currency, sum(s.commitment_amount)::text as total from public.financing_sources s
          where s.deal_id = deal and s.participant_id = o.participant_id and s.commitment_status not in ('expired', 'withdrawn')
          group by s.source_type, s.currency) t) end))
    from (
      select l.* from (
        select k.id, k.buyer_user_id, k.participant_id, k.revision_number, k.is_current, k.submitted_at, k.payload from public.offers k
        where k.deal_id = deal and (of_deal_side or offers_told.side = 'buyer' and k.participant_id = principal)
        order by k.is_current desc, coalesce(k.id = agreed, false) desc, k.submitted_at desc, k.id desc limit 51) l
      order by l.submitted_at desc, l.id desc) o
    left join lateral (select p.role, p.status, p.joined_at, p.left_name from public.participants p
      where o.is_current and p.deal_id = deal and p.user_id = o.buyer_user_id offset 0) b on true);
end
$function$;

-- Frozen migrations: the SHA-256 and the name of each file that makes what is above

-- ed1161b15a1cf06db4d4106f04f7b25e826f9fa11ab17011b6f0b0813cec0a68  001_foundation.sql
-- 59930347ab28ac1169194e5f7562d6ede4e8464c88fa675a9088a0c24de3b5c4  002_people.sql
-- 0d0fbb2173d9aa00ddf80e98c18ac19c367de18655dbde78b81996d5eff5031e  003_contacts_and_keys.sql
-- ef7700ee9828e92a12f3dfe6688de82cf6a3920b3445d54a2f427df81e341194  004_deals.sql
-- 6cae62f591a9729945b722e1a80deb54e85cd7d61cc488f1fba622f8356f97ed  005_quality_of_earnings.sql
-- f953c50b7bc2fbd6ae6740155ce69d93ee64a760ad9d29b6d78d2e4f0c82d9be  006_questions.sql
-- 3d60fa3cb70d95bc2814696350db173728b0392758d43db27a32b4b5d6332dfd  007_documents.sql
-- 9e1210d1cc5fce5736f5975d59bb3cbe432fcb2c0a0d6d82007645b50e701215  008_offers.sql
-- c8232d5e79ed23ae3c35f63d7f42fc042965a48426cba84eb7a5d841290bc97a  009_closing.sql
-- aca52d13184b1058b544a9a557842f6a89a8da80395d0489dbcdbc128fa6a84c  010_findings_and_financing.sql
-- ec988ac020c41b6c65d098123378bcaea2a18a86b7afff82486f8caaa13c08dc  011_closed_deals.sql
-- d9c7256b5c4e794dc5b11fdb2b7283f4d79844a5f93c1b27dfcb6a967b66b2de  012_audit.sql
-- 5e964a38367fe96423b54c049b5379b6f7e95d0a213bbc6f17a30ab9446eebb8  013_sign_in.sql
-- 572778b854b9c52712ffa2f623b0ca7e940bb01deef1a6335995f0b72335642c  014_second_factor.sql
-- 7f283acb1f41d1e7d7ece5fd3ba67e6b3ccf221944db6a2d2ab13f128c4dec68  015_membership.sql
-- f607d7c3141c86aee42aca651dca3306b840f1c69dfdcb5d2f6b3cca5ad67728  016_connected_clients.sql
-- d67cff6d3a35e8c34a16330f6bafc4f2f916225ddae0d6c2c6594a5210e0fe75  017_tools.sql
-- 7db8ff69f4ead1ccac1c0c357eb7be791325aa01e5e024033187408608c7f32d  018_live_changes.sql
-- 940aaa41e1d51a01473bc780eaf9e8c3ffdc6beff04df20645e8b82c3bd0a24f  019_one_deal.sql
-- 8f39267ac4dbfb8e6c0590d5992458518084ee97b4caf651b42b4ae99b1e48fa  020_audit_record.sql
-- 8c6e9a35f37bf37097a728e0706557be2e542e967e9208eb60b734da07aec5f8  022_lists_at_size.sql
-- d4a9869c3182928ea52059e9627547965cb5df59e667163aa9f8664bbdda976f  023_contacts_by_index.sql
-- 24f91157376123b7005192c238a297426c27ace6c11fe3caef07ff5d002cf6f3  024_audit_and_names.sql
-- e13f89d1f3bebd03e812e6f0ba5725142a59d72b2a894c3961a197a7148396f1  025_told_by_deal.sql
-- 56d8f5c9730d83e29d5634e7e029591867b94aeb286dd49b81a50df8fbdd6a98  027_room_for_counting.sql
-- d33f3969a5c6a630b992392d709831d20abfc47b2c113b8870b63f7d98bbec60  029_compatible_schemas.sql
-- 3846cc65e983509e0f233dc7ac689f7278e682c577fd2e3ae68eee9bfec2b52b  030_document_store.sql
-- 66cf18f3e544ee7405ca5d6b387ab9d4e814a0db5b99c081d72551950f6bcac6  032_activity_and_lists.sql
-- ce3b3206a3d7ee733ace000742428bbdde0c0aff104ecee3a2656dbba008189a  033_contacts_and_lists.sql
-- ca8100e53e7e9fe04a6b96ed8c6b7fb1478cde8e5098c73a48be026ac1b3bedf  034_calls_of_tools.sql
-- 44e98c433f3626857db497f1f43e1fcd72f81eb569fd670d89bd69e38dae50e4  035_audit_first_month.sql
-- 78568f58a7f5bab7e08d1fb9e29ad71a2fcde9a49d81c3dc9d044f63233a3ec7  036_audit_by_month.sql
-- 045c9c9c26bf0fa0361dd5fa406e854d93b34cfb28cc7b7d342f5bd37905f2b1  040_outbox.sql
-- fa987f86984b3cd669258e97603b930b43a92b808f09546fe4ca6b70946983d4  041_undelivered_mail.sql
-- a01c98a4514fd5bdbd4e2597ff68a491a16ab066f33ba368009f3f3df6727829  042_when_to_mail_again.sql
-- f0df5d56288d861a56a5f5c866cf4bc5a5ee5d167e4e28f3c601b4174d25eb15  043_notifications.sql
-- a43218a297769e95005e658f96ebf6968563b8357fef74db49cd4efeae3049e0  044_notification_mails.sql
-- edc2eb23f6219f4c586a02d5b9cd952e154c0d032a9877c233877dfaeade34d5  045_activity_in_sight.sql
-- 423b14490a8919f56ec56bfa2960cbfab418e44147579006e98748677b433c72  046_erasing_people.sql
-- dbf24b759d01a637cfe083fd71c9daa09dcaab13e7e09afd8234443cb32eb87e  047_erasing_oneself.sql
-- 27a62e8813d95e64cd199ed92371d8d02425cc545ce1a8093763beaffeaf953f  050_status.sql
-- cfe9a8e9181bd5df09c04be1057fb52fd8b89105220c15e785cf21ed60ed8735  051_sealed_secrets.sql
-- fa57c0d2c57a30c341c0bd241dc92773019af68ce77f06502c1926bd22d35676  052_names_in_sight.sql
-- 9e41d9008b7a66b9fb7a2dad3d5e26d57cf4f9c1912b91a84bf53d6b9b2add70  053_first_page.sql
-- 8047d02209725a37c65875711d68083fca41fbbbe6e05bd2ad944e8c5db500a3  054_last_use_aside.sql
-- f672181bfd04b125c0bc92de7b65ee06ab06592f23aba9e406544dbe036c4887  055_tenant_of_rows.sql
-- a2712582b7c6d5b78c38ba18aa3dcfa72427c43f695c1410a419d13a1764ce65  056_tenant_on_rows.sql
-- 0f934ae96e6e762b03c9976473f3e65c4042c78c89d60ebd878025349e4f37ff  057_calendar.sql
-- fa72978dcaf78914ddb5360d6fb0ef187894b673f2ef631317c4f9cde085e27a  058_reminders_by_brokers.sql
-- 17eaefffa3124ace243b1e145d3444abba32e42f5d1457a2fe5d1c39e930b902  059_activity_and_visits.sql
-- 8175a60b4298f8848ba5bde8fe6466a851d3e966dc4ec745cca523ce45048137  060_backups_queues_and_clearing.sql
-- eddc29196be1168bcdcaeda23b6cb2706c20daffd998a45ba0a6b855b2ce8c81  061_mails_by_the_hour.sql
-- 80273efbf7537a4b787873bdd7f1aac4135babf7fdf72218b753b471d1d3c1ce  062_indexes_to_delete_by.sql
-- 39ee30c9e2cafb276e9fe6335d7f4c07ea3589def80980ee7ce8e9eb5dbac317  063_deleting_brokerages.sql
-- 570ad4e6c2395ddda6dde512a1cd1eaee5df4dab916a323934344b5dcdaa269d  064_exporting_brokerages.sql
-- fea46a49a1f2902061ae1da305aaef9c972b90e2ed1d2303525cc4e45d492978  065_people_in_sight.sql
-- 9c071cca5013c12b138917fd0fb6c5ba033b40ff3f12799adef3770ae5a8e1ae  065_rows_by_index.sql
-- 8e0a650f88e454c5900ea3877b7681bb38c82520d1126cb8fbc9e1082633399f  066_rows_for_everybody.sql
-- 7e5ecaf0645eed12f3e60931a2c54c0fb1cde51a490f23b5ea1c040c4812c569  067_people_in_exports.sql
-- 03bacbc278d5f50de068ee0df7523a5a1ded6ae0bed6eba7a68d919b6c44d3db  067_unread_notifications.sql
-- bf3611960a708bbc4f3f7091600e7845711083f78fb7283b8ee214976e98aed7  068_people_in_exports.sql
-- ff2183bc696ae041949f23bbe6be73847f55c2f02997aa3a539d88f2ce724f3f  069_notifications_by_deal.sql
-- 7e1bd0bb7d804bc624bf5e24e26c0b06f553ff8fe5b69aa7c9e82afc7875ef86  070_exports_by_table.sql
-- ce58765a201021d5c6bc7d283b3b2b159b05c71a05c9aeaff082d3af28fed3ed  071_logos.sql
-- 5acda5061b5751e879967bd1ec8556b3c5c3b943b8fceaaade0497325fc431c0  072_deadlines_by_deal.sql
-- 34fdeb1c28d2a1a58bbe174f47df549cf6e4fddb14db6dad43f642afecf61685  072_first_page_by_lists.sql
-- 8f8026707e7ce9de5dad272a7dd237f6ecf69e0b5a8cbb733c185557afa10068  073_indexes_of_what_ends.sql
-- dd48fc9ab5ff11283676e96266583b405d5fbe9d1b28c34ee753f01cc84fc797  073_records_of_calls.sql
-- f4ceca7e2fe0a573e29f91b04eda7d1202e85fab7f8cde9a3c80ac3e9a0e5a66  073_what_somebody_did.sql
-- a4d2ddf3687bb7a9c09e06d27ff5616d1b98d3644f98443665be5e2bbda6adfd  074_keys_on_deals.sql
-- 2eb817cb65a104c4ddd1873eed3612d315e93065ff0e3720838da12593a50573  075_people_first.sql
-- 55b3cf0fa0f09399f9de39d6ea4e76ea2a9772021bba87b3fc95519f3f12f867  078_repeated_requests.sql
-- d31a0c28477063663f03bddcdf39f9e71c3a7120157ef83f6a2de854982ed353  079_contact_records.sql
-- 35b952420df9b88b8c48da59922dd44e56eacdf4a847074cd221446ec4fa2eeb  081_change_events.sql
-- 09c824fa8b4aefb91ea94b4970174a0dc5f64063180b2382404a4ea196877267  082_admitted_deals.sql
-- 938bef59eda067107c7f7a76cdcc808ab7d7aff50b75878cd6706db52cc68a0a  083_webhooks.sql
-- 5b27d496eb5b2fab575bc48020f50dc311ce9a2e1fde28434a96834a00e46562  085_deals_for_keys.sql
-- 6faaeca92f7f7e52fd6e0668047ea489b9d61a314ebc59def15a4a87db6b5a50  086_writing_with_keys.sql
-- c9dedab66cb98ac345332c1a5db4df71184466c59d869259e9582ca8e83d1736  087_openings_by_keys.sql
-- 2a21f17a77e667c72b4087bec3620bdc5c3634b6a96843e6d2dadf602fbc93fb  088_forgotten_by_requests.sql
-- ab4a4212b117549a37e91fd975ef49401421cdc2c21e1ccff6107e950b576646  089_sandboxes.sql
-- 42fb8e4dea5dd3dbce32ac0150dc1942bd22ebc862c616a0727d705e91403ecf  090_room_in_sandboxes.sql
-- 7bfff816f1e485846a8a7fb908c6c09d1397af0cfb40575fafd8f2a20cac5ea8  092_deliveries_in_order.sql
-- 24bd965c6e59e1b1308bdfcf8f1a38d59fba91b4df08f8f3907374b1b5ef1343  093_erasing_in_one_place.sql
-- 0f3b7d8decda56a43625e1442ff2cb811b83003d906380a365ef134e9ee16e34  094_delivery_state.sql
-- 72ea79f1356c065a69440715c3cab4d11196440d2ad771eafecfcfa0919a5618  095_contacts_by_type_and_name.sql
-- a197a7d984261fa5e027aae7a574ef5456d1d9cfdf39f6e714be719254fbc0f2  096_audit_of_large_brokerages.sql
-- 3d35d04243e34061d79cc6b8a95624a601ac46815252f773dfbb10c1a82b80f1  098_clients_by_document.sql
-- 8c453bfd57a037b56ddc74aa215ebf852b84a7ea6f8b230cbd9a3285082d47d8  100_clients_by_document_alone.sql
-- db794c1d5102bd94e8be6b5ffb91c5da19a93141d1739a086ff9260fe749af8b  101_repeated_tool_calls.sql
-- fe8a8328361119885a426894d3b251e00073400b9b835ea017e4320e231bce4b  104_first_look_at_changes.sql
-- dc2cb71b7330b40b2880cc1d1841ebaa206a581057c8814254c6c571fce548d5  105_webhooks_of_sandboxes.sql
-- 568b11d3975f0612e33298f8dd696d7403d6b93af296dbd0afa16cde233685b4  106_deliveries_in_lots.sql
-- dbf46df061040c80639911172133d38ea009dbacdfe0b8d0b28436327517f93f  107_sandboxes_and_erasing.sql
-- bb1e03587489ce4266b527a9ee618b6011d1d653e366a15aef12d7cc0a11bbc0  108_deletions_one_by_one.sql
-- 1e9bde8f118c115929da9474f8c4b917c60ee37a575bfb5ac4d5a47b060ffa25  109_people_on_a_deal.sql
-- 62216aca79ea72aef41835a5db8da2785bb948fbe0e55259e77a9d8b75753788  113_documents_of_clients_in_exports.sql
-- 8adaba652af58a62bfbeed3e8d45a84ebd62dbe4c2c4976ffeeebbd565cbbc7c  118_pipeline.sql
-- f5b21545598e422c5e7ad70ffaa49f7143d2671e0a981d03c64cde9e52398ea9  121_accounts_of_exports.sql
-- 763f76046de5e082907bdaabd4885a98f7f73f632f6965e6083ae99e5bd25642  122_accounts_of_one_upload.sql
-- 4813e8b06d69dd6147c2d90a92473e4a733709a4c3dd742afed0feacd72e4b1d  123_documents_by_confidentiality.sql
-- 37525ac69697ae434604ea35c9381cb44dd6d228064c239f200280c1dfa0abed  124_lots_as_taken.sql
-- 28cf9aadbbd6912169dea17460ed9c8cdf80c5c8da6048c665ff460b97cc4794  125_lots_that_rest.sql
-- 1705fca08e3174d7b3ab943be3b41da786deeeb7bcd10685d9c61291477269c1  126_answers_to_contradictions.sql
-- c14502e1783981f13a989a58ad47e1c4e58eabf767db233bf969f08556cc0e52  129_deal_in_sight.sql
-- bf8ecd96c53db27b586866666619caebb3ce7952dd66cfe244d9d41cfb1bb130  133_more_of_a_lot.sql
-- f854294c8ac9dea0088d5f7aa2c8048d80789163051d8f3efd871c6c24fe32c1  134_account_lines_unread.sql
-- afdcfb97519a0a29af6a156245ee1372c5f5039923e4907a4507b3f57011bf7d  136_qoe_of_one_deal.sql
-- fee41e9206e16f3d9a06f75635a89cd170dc533ab8df9060b1d2ca145bc6b4f8  137_uploads_are_final.sql
-- 0e6c8d9b4b4039364b2a8972b3860e334424b06a94580eba5f597cee256f698b  138_books_of_a_deal.sql
-- e48f081b3233acd9820bef0ccb1da3cf7ee46030a2bdada1b0f92a2e75df74a3  140_events_by_hash.sql
-- 291e2a45e6ba5623cb10e7313086049e8d0e307d8692290a06d75287d66dc27f  141_deliveries_due_in_order.sql
-- 2f15ffad1e1d4079409eef6dc709f44b996f677b6628b129e4c5082ac5f0c910  142_offers_and_books_in_sight.sql
-- e8464f912fd1ec7492275ece33be11025d1e4f69c6c4fe4fcbb5a4e4d1e908e8  151_books_in_lists.sql
-- 556851d9679bac312cbdb408375e9420327ae199e6350292447ddb4f53ae8326  152_closed_deals_by_statement.sql
-- 0d1b8dbf5f1fc7dd83788ca889081c6d65ae086e544fed535d7b28e0e9e3f306  155_refuse_clients_by_document.sql
-- 2e808be1b2b068d2d38c79235c9f29c613a5126adde8955f8a34f1cfe59376a9  156_deals_of_a_large_brokerage.sql
-- 1b6bbb45b4ea4decaaaab786fb3acb708d5f390a8bf08a9f99047c6607bb8d11  157_indexes_to_delete_people_by.sql
-- ad4fbca1c539a1a6e69cfd644b41a7d16d1134f4aa450b32f99cf756ee769317  158_room_for_people.sql
-- efc3644fcfc1c2812435d4360fa3023666f245fe014fc6567c5019a7f90dfdf4  159_room_for_who_takes_over.sql
-- 1333e05b25c5d1648b396ec35c2c896b8e8036c08216123e737b01a684ecb257  160_told_as_they_enter.sql
-- ef6d093cd3d780652533af6c9d16e50d7c2cafc4bf53ec19964bec609899ec67  165_deals_in_order.sql
-- 35a812fa43250ce07c8b0bdcce4cdc6c4be04996870612515742854fb8d902f6  166_latest_deals.sql
-- cf4af0f5a7be27268f96f36a45aed7c2e6cec8a955a2c6e3e64615cbf081822d  167_audit_in_order.sql
-- ca3689c08edfe906ca616613384e88ed4f76e7d5e771edfd25974d20405cf3e8  168_many_deals_at_once.sql
-- 5a6b3290209eb0f65b2a549e3a79954252b5effedbb54a2f54fd9be0aab3ee21  169_frequent_words_of_contacts.sql
-- f6650596330bf1165380cea4fe922516194ceed61254fc3e01269a397b8b32c7  176_closing_warnings_of_one_deal.sql
-- 8177015105497ceb506c1a72890d0cfee76439d937539a3f4e87bb3c34e0e005  177_advisors_of_the_removed.sql
-- 01cb040b026879f0f01634e075c48a99cb87e1b5cc4f4c016edc9f26c2f89977  178_offers_taken_apart_once.sql
-- 7e1125fe533114e9545d620d6273023140dbbb27568dd8009dc9523bd2941324  179_one_record_a_call.sql
-- f07ab54447faf272364f3e4d2ca451b65025c510a2706d8cbbe606acc63400a7  180_deals_of_people.sql
-- f719bcee7e6098576b6e57ee3c14356bb96e3c260a01225c8afe7b087eb8fa24  181_readings_by_person.sql
-- dfccaa42aba2ebd487c08ecec94471ccc569fe0caed167899ab2097c11db915d  182_answers_of_people.sql
-- 8d0701295590a11869eab8b1011ff2fb647ff7e587b9d79eb09be591f2afc9d6  183_deals_that_are_asked_for.sql
-- 7d86e8bf214cd332d90d28e33caf3ef143c5d2de360aacf8460909338bea87b9  184_indexes_for_what_grew.sql
-- cf264a8761e1374243c10ca757e4fbc15593f0fa4f9f2730a456be8f777b4f93  185_record_with_less_work.sql
-- ae6249f6455cd75303a60053f2bb8f0553e8b1da9838c1f293de71fc918906a2  186_contacts_with_less_work.sql
-- 23c1873f5f81152b22a76f1567c1276ac27aca6fa65f91cf568f312c182cb09e  192_cost_of_what_is_asked.sql
-- 66991b1f02fc38028346ef98377b0c22396c24db891eb4e52ffa9baa3ec83423  193_export_in_order.sql
-- ec07f9e735daf3c55d6933d757a36255036fc9382d4dfa086040dce48f4bc9df  194_documents_by_deals_of_people.sql
-- a04e0af35cdb6d965a6b11c404d03c2d93431df6e268188ed64e1374a66f52b3  194_rows_that_go_with_parts.sql
-- efb8518123171d6b102c4916340332d2c8905794337322fd7eb716bda1058cc7  195_locks_in_order.sql
-- efa0f68d5df45793a4d7ab5da6043b08a8b626922dfb7deed8d8708d5ed17c83  196_brokerage_of_one_deal.sql
-- 244329f56a9c78b1c2c864a6157eb3d18e380c01465a4af0d443cad2f7536e4f  199_told_in_one_value.sql
-- 94adf6fa6a94ed45e9f83b12fb2a3ae28d589be7c1ca837bbcc496273b80014f  200_contacts_in_one_statement.sql
-- 1ee97121fab931805b72d4ba2bb5c3dcf666e1fde11336af73d3c2e1577e1f41  210_parts_of_people.sql
-- aee04165ce9532fbee18774ca730aa3c0e3466f78bc8cc026ead898b4635df4b  211_deals_of_one_brokerage.sql
-- a7d3c1e17da57ac827ed35cc136c63c0065cc0b8ef7cec101b3ced86f9fb693f  212_ndas_of_people.sql
-- 6b13e0afdf3ecab75c1fde3a0ee6132a5eca328b67183fbfa836e642d296ec90  213_deals_joined_by_hash.sql
-- 80134c9e028cb6c31a6f649b8f3c6807d580d3d301cc705bf37a0f5bed99461a  214_pages_of_deals_at_once.sql
-- 7f0fbfd50acdb375ffce9a028edb5e86eb64d398200552eabf4dd62da045ad36  218_part_with_the_deal.sql
-- 19a72f5ee40266ac9932b33ac883baa14d9af70275408af9dd84c1506e16f6a9  219_records_without_condition.sql
-- 3d79eccadf454c95aa81a865cf1211cd2a597540b1d729490bc1bb6a3e0c5490  225_checks_of_contacts.sql
-- 48a72806168eedd2db19590fbcf1361af69733bdbb783dc84343c0dd77ba5362  226_contacts_checked.sql
-- e125f5b58579c423cccc284b4a1b150702e13921a9deddb8fbd5bc869982e90c  230_people_of_one_deal.sql
-- ffa6e0a836d63f6108e38291b88416af69e0b9cfde937c7854bb16136765328b  240_keys_of_secrets.sql
-- a0c7eb260690da05e6ce937fa9096199cff90b0f5920daa7be1973e343c31666  246_parts_before_deals.sql
-- b2121c09571f1482c3243e24e2ff04dee1efd943e023ba7f8166a11199cd7f4c  247_noted_records.sql
-- 14a1276332a237322602b093fdf9d963f72d50daa4d7de212b5cbc701dec953b  248_indexes_of_noted_records.sql
-- a9f5e5af5cc59180117b6482902c4e4e81fb13fc279a87301bc5f7be3fef2b6a  249_activity_by_noted_records.sql
-- b842ac89af79db29593339ba28a427ce85201791396fd152ee12e7ecc4304f3e  253_removals_in_order.sql
-- 6b999346572954ed94860854cf91545d268e855e92797f13f708928462174b73  254_indexes_for_who_leaves.sql
-- 22c8422bc07883ab057750e7f667052f6982ec20fb14a7868f881e288c5388c9  255_contacts_of_who_leaves.sql
-- 724eb1d9a229ddf9edcf1d1dfc40fee665c23428d3258c662d92f4eb1edfba99  259_documents_of_who_signed.sql
-- e1eca95dbe71164ed6859fa833a68c88ac00f3c7caff5d414fdca3369cabff20  260_invitations_of_accounts.sql
-- 9d426519f26b2ec9a9dc3b7a050c74936b8a8b8e15e9c23dfbbcdbbc345cfc6e  261_calendar_links_end.sql
-- f577fb1375c4552a9bfd05a1c0c9e5e3a2bd27499489ad0546557a8edc17fdfe  262_exclusivities_in_order.sql
-- f48515dfd73131da80ddc513b80118140f6af22197176c62c8c990a5274891ec  263_members_at_once.sql
-- 7c6574aa26d6d962dd102b9f041a764aa975cafcb2a9877c786170c6aadab9c2  264_only_ones_own.sql
-- a9cd6d8d69ccd5f353cd7c81a16123397d689294cf6bd7ede046bb8e011d5372  267_seldom_states.sql
-- e2cc5967cf1142925c0ec49ca98571c0085cb830e79e95df3b90bc8c74084972  268_functions_of_earlier_nodes.sql
-- ed18a758aa57b709ed9f27de16f31bdc434c8e9571888eab909e8bbb27f6b5b6  269_zeros_are_no_deal.sql
-- 92c3ba533695a67ca3e3c881868cd7c42ed70dda7abb4cbd838642c69878a518  270_decided_once.sql
-- 827a9fc83b5cb25d5d5ec9820e47d2a1405bed5f88d5eaf178f1110d7a9a76bb  271_opened_by_members.sql
-- fe0722c5a1188bc3f743fa7db56bb2092d20fde0284afa711b68cda088c3da41  272_ended_with_what_begins.sql
-- f6f4300bb27d40890cdb08ccbaed20121dc99b96e8cdfa9b56a59fc4aff3911a  290_activity_by_brokerage.sql
-- af6f5e770136bb4ae5dee1d69abeadda7483f1ac8980a9f0224b804bed56d983  291_one_index_of_activity.sql
-- d44461fff314d72586e6d257cbf4d2d0982f9e4711b2b1965bffc9feae084ec6  292_counted_one_by_one.sql
-- 7b859dec8092013a10da7b8a088fd8ba4d7dceaa3a7eeaf33b5f3a700838e570  310_given_while_it_ends.sql
-- 90d1d3f5e249402e056c1ebf7720e59474c69bcfd26ca8a5af82dd1ab68ddc90  320_own_data_as_seen.sql
-- 04a53ea5db1613b2dce0637de1802a82a3f40403e268be1c4646dabb328ec606  321_nothing_outlives_its_session.sql
-- 2c70a730fa4b7e0e3a48aefdc98638e5ec6e52adfd67a7b12e4f66696545a7c6  331_redeemed_where_it_leads.sql
-- 8630212d63ba1331cecaba30832296df8b34c2014fc69c3647d10bc6dc30557b  332_fictive_people_by_mailbox.sql
-- 575b65020dcabcfdf76f758dafa060d63064c2bfb7bfe9cedfb24d93b908ff7f  333_erased_from_sandboxes.sql
-- 92974ad898b5ded7206bb3304c6994c32dd2f345bda4d241f52a6b9d6e863e31  334_nothing_outlives_an_erasure.sql
-- 24ca6c09b6e07b3b22f60fa5bb4b5110afa6bec5bb1d6f1efd2ae0e04223e392  335_opened_of_brokerage.sql
-- 111ec81e61f8ec3a60502350a266df689f25a32aca2c162273556bdc06a71604  340_let_in_while_on_deal.sql
-- 10e00e57d9ef83812878cd9877b880b8521b44440eec01002ee1ba0aa5cf7fba  341_own_data_as_seen_now.sql
-- 7544d70da5888f1147003e1e9f6c607edc9857996b7c81eefb2d37e6cc1650fc  342_given_while_a_member.sql
-- 1eaec067eeba1bf53031daec5e7da5e62e41382109db54bac05808840a1b69c5  343_list_of_deals_in_steps.sql
-- 899c1ad1188b7428da7fc2d5adc75db7226a57a629527c69efc2b7036d3ddb31  344_exclusivities_by_brokerage.sql
-- 60fa0d67403838c4d72d7f8ae72416ca53d59b876aa74af2780d6b692107cd90  345_list_of_deals_by_brokerage.sql
-- 34c4c3c601ba813813fcca4351ba7a68550f0445e49557bc18058d6afc8903e7  346_audit_indexes_for_filters.sql
-- 2881e882d4c149dee9de36c06fe4e7af76a4105f9f3ddfa8e93a53b9a05c8a07  347_audit_by_kind_of_act.sql
-- a1f0b2b401333d4d979f1b9e07930630bb0fd243e0bffcc900ae6f60e2a02ee6  348_told_since_their_role.sql
-- b028e8a9355810ed1c181ec189d4201c0967f85d2741aeab53c15523a0acbb1d  349_audit_by_rare_kind.sql
-- eeb9fc3f6c5a72a8c0d9d76bbe5f1d3bac4b4915db9f961876c27d3d8e7e1935  350_deals_listed_by_their_keys.sql
-- e7270a98ac74fcdcc9c18d428387829a0c8b5fd6f5b48c10cda9be3f421a7ff9  351_notifications_read_at_once.sql
-- 0a2626de582fe26ac2f5281c40f99e1cd87841d8a56c5fc0c93c0f70d08a885f  352_notifications_standing_read_once.sql
-- 1df5ccd3289dcba3963c4d76ec7bb13864980438a120c331b227167518b5e408  353_parts_by_when_they_began.sql
-- 193164b0941af1eaa8556bcd57f42e913e6b6e5d103a44955e5123cf6835af21  354_notifications_in_their_order.sql
-- ddbb4236594b1fb4ffe80b25d4e79c50ebdff07ac68e44268d4a7535523ce66b  355_first_page_by_what_is_unread.sql
-- fc9b4fe8eefdfacd3b7dccbd72b4db43ea3c448cc881b975e297493d5dd54ae5  356_open_findings_said_once.sql
-- 2f1b1c09473cd87ee41964b8307bbf98fd338684896b10b6aff7fa881adcb606  357_exported_deal_by_deal.sql
-- 24a5e1258933d568901c98a3f7ed2bd497aba19a41395c45fd6cb0c39224e3e7  358_refreshes_of_living_tokens.sql
-- 3a602496ff8fe1d36a1d6eb7841eee76ac4b3520e4d9a890b857ffd9fecd33a9  359_erased_by_a_proven_address.sql
-- 8a36038426c3c87cf09ab566fe3ebdef2683bf9e5a9492de87beb45e2777e715  370_own_data_of_ndas_and_uploads.sql
-- 484f26a703e37df39b3667cde4c6c7558355ed5455a9edb51fe0b76290edc420  371_audit_of_other_brokerages.sql
-- 506ba141af972097516e8e9ce79110807625b2e0fde66ad22090683622384308  372_mails_of_people_and_brokerages.sql
-- e9299de79f3ad672eebb8f8484ede0a948a45f804346bff18282a1eb70a41fc2  373_words_of_refusals.sql
-- 823471d402746bafcc4fa098e0dbd65ecc8e5c1620011d9bac3f714f0e00164c  380_factor_shown_before_it_is_changed.sql
-- 257d71ed466327128d00851da369518dc43fce66f3f19ea9b8e5bd3a68a91f64  381_joined_by_link_in_the_trail.sql
-- 4f6744eac1ea4294d81d62f42d7366169807927c9e1c5d5a97705d399d317c95  382_webhooks_end_with_who_added_them.sql
-- a77c2da5470f6bb44deae2ef66f122c97fa67ea8909c0a97073651dca25feec7  383_mail_counts_of_deleted_brokerages.sql
-- 69221cd5b88200c37cbf8a0a45783be6463e2fe3027d0fc6deddcb4837fc7dc4  384_reset_of_the_present_address.sql
-- 9c91b69f657d040f13e67e00d0fc12bf9d933ea3e3eac0027839e1a3c0753a96  385_advisors_leave_with_whom_they_advise.sql
-- c1b07ba6ba3a9d77f89cb16965cf2dbf4b9e865002a559fa3dd85733c792e820  386_expired_offers_are_not_accepted.sql
-- ce4ed4c29105745bef3c8dff43ea6c842c30800c0d22c7a5f1c90151baa7696e  387_offers_to_consider_that_stand.sql
-- 093f71b4e6b74485aefb8650c846718e2595107b7be7b51c5b3ba3515b6ea4d1  388_nobody_advises_the_removed.sql
-- eff779a1f29f2a65dac4eada986c4e36918423046a8ff0f40938935adefc235b  389_address_changed_in_order.sql
-- 2bedfc112d3ab50e00831b23bc2731a83c1c481858f1675b912e76698bc6ad76  390_webhooks_before_an_erasure.sql
-- a24fb7d7f4c8f3cdc7cbfbba59a4581de5c57994232f8745987fa9ce1637bb51  391_closing_warnings_of_keys.sql
-- aed24a44099eb8acd17968c1951520fe3013e16fe881bfba4f319387880668af  392_asked_by_who_may_see.sql
-- 581c29e6fcfd87d88fb72e5a9449aadd7661433725ef19aa7ecf55e67dea250d  393_why_webhooks_are_off.sql
-- 1dcdc3946833a8e0c666067f4587284db0b367c25c48c52ee07100b280ca7915  394_joined_again.sql
-- b0f99029777c808fe54f553afc5b64ab8721d9e41b7d40c112040943baec8804  400_decisions_told_with_offers.sql
-- d4ed63641123a9a722b3d8a3a705df1a9056fde1c67729c63483b3b9682e24c6  413_answers_that_hold_secrets.sql
-- 2c0c6dfd78feeb49f39137643e3e0b85d65d399dede9edcedfe7b9628627eb90  414_keys_of_remembered_answers.sql
-- 233708a905e8980af8dcada6bd52559123f099a6c26406945468f7144abbd654  415_mails_that_nobody_needs.sql
-- d76a63f2b69d3e414114eeb55e1be921769bed9e77015e6e5eada90c2a1e24ca  417_keys_invite_members_as_brokers.sql
-- 2606e1ca0494e617591405edcf4f9cd8dfb0cc9f556a4286d6ce023da5256d72  426_participations_from_rows_of_lists.sql
-- fdeb025c45ccc0457078c42fc89573a59764ba2142d56b9bece14cb4dbd6fbf6  427_changes_that_are_gone.sql
-- 64540ef47eaa6bf7dd4fb761abc4f437d8840de1d82bcff2c358f209e91a1c0f  428_exclusivity_changes_deals.sql
-- 5ed84d3dbcf191dce983827cdc9985c29a2cc1afc82d505f2686afa54753ef0e  429_renamed_people_in_events.sql
-- 2a9cd0eb2cefa18ca5548a7d72471d14b184cfb3f6bba66339f498231eb2cae3  435_reminders_of_decided_offers.sql
-- 4786ed693e74de7e9e45807a97ccbd6300b576aa4dda47954976b84305ad5ff5  436_mails_of_what_is_still_so.sql
-- ee44c598b757597cebc6e25b82e2b461673574ac38534023d46647f2b0ddec74  437_security_mails_at_once.sql
-- c9762b66d92236e4eb355914f98988d39462f62a6178c7cc8015b84d75bf0762  438_notifications_behind_hidden_ones.sql
-- e1d7dc382e68df047c7e6cdcf8e001dffbe02361bb931f10cde847976327587c  439_what_was_refused_or_ended.sql
-- 9d6b145a4af1c581207649aa682870643cdab0eb6ac8de38446ff5e6b3e6c19b  444_webhooks_of_tokens_end_with_their_issuer.sql
-- ae039dc00d32ebdfa0f88d735be08789dcc85fe7407fd2c25151b129b709c1fd  445_keys_invite_advisors_of_brokers.sql
-- f226bc9b270c797ebc1a029f9ba6d3b89df5366d8c6af99fa5642530f0c54a81  446_keys_before_their_webhooks.sql
-- 30961e9dc540c07e0c0c5cb9596045319544fdc3b085e8a5cb0b71efcdc95996  447_fewer_looks_at_hidden_notifications.sql
-- d20f5d48662660a27336115aa1dcc2bb36102c31b70a5a403089632633bc38df  448_two_looks_for_a_page_of_notifications.sql
-- efd95bbbeb7d5a1a4ca14cbadbe7779bf196a964fdeebf5ef4e76ec5e60f74ed  449_what_a_standing_opens.sql
-- aa9859d2f7cc05bcd587fd6efe5a023467b38edac411b9085c1d80742829ef16  456_holds_on_people_keep_documents.sql
-- 040bb8e1ef0d16f1d9da4bf21ef82629ecc4bbdc79ca38c0183ef262c43b7150  460_acceptance_in_the_exclusivity_that_runs.sql
-- d7b014d9b52fadc0924a011d8048837e50af25c43b5071062e3057062272970e  461_no_reminders_of_withdrawn_deals.sql
-- 6ad1a175cffed1f22e3ab9de6540eed4402dffea46184a1775bc4ac512d627a0  464_repeated_is_done.sql
-- 0a0657bf849803398b6389087526fb226e2fa27127772eee8e95b1660e02d5ab  465_what_was_repeated.sql
-- 526cdd2cfceb7c2da7d8f8804d5be4d2af4da1108ad934639caf7963f4b3aeeb  468_events_within_the_limit.sql
-- 257a53ea6a63ca9bcde50b5564315d4488021614e63bbf790e29b683fb2e9b2d  469_notification_mails_by_one_node.sql
-- 7b4ca3c088a8817671e78df65b29a35e9bc5fa68b58150785375eb26a482942d  470_cleared_once_more_after_an_erasure.sql
-- 2c8b61840a8cc4e60dc17e6b7a1859694056a9731088a3b6b7e1d6f92be5add6  473_webhooks_of_who_is_leaving.sql
-- 192e881e74df223653d7dfd112cc0e9f7ea6c171cb476daab5c85914c8140f12  474_invitations_of_who_is_leaving.sql
-- bdbe9694df451ca8dd1143c47a5fa212a39a9fb4feef4c3b6b97300f286716e2  475_closing_warnings_of_this_moment.sql
-- 61ce3936514d2849d07598ead6ed056ec9c9d6baba5bebffdbc42df338dc9514  476_resets_beside_writes.sql
-- 0f7f8f2c076aac0691ca47b688f332f322195312fdb8687ef49810f2baa4a719  478_holds_that_are_waited_for.sql
-- 57faf7a47bf6b6de44e9c2a4905e31d5bcf4da5aebffcae53ab51e3a3aeb3dd0  479_reminders_of_open_deals_decided_for_all_at_once.sql
-- 3f528bc3128947470fefdbfe7323083bc10bc0c1c2dca670309cc32e30979fe2  480_restored_documents_in_events.sql
-- 62c01487f21bb96bc5197028a39b2b21d35db71ba57692c35c0d5b4cf5f7a09b  481_documents_by_when_removed.sql
-- 526c1b6a6cf2d71c9a11d13f3f98e9bf63e279f4a4a8aa844986e6e23213cc61  482_documents_that_can_be_restored.sql
-- 97584776259781d1673b6d7caa423c1fef2aeafc380406c768cfbdeb427d3133  488_earlier_acceptances_are_not_declined.sql
-- 4f622242998c1d1a56482f448de4fbf9e119bc9560149d438625eb6ccdfac9d7  489_bodies_of_a_sandbox_with_their_documents.sql
-- d08ad0f4d8acca8fecc889f9e0551bca21dcb9b1978c0199cf18109feabed7b2  490_notifications_deal_by_deal.sql
-- 07619be9b36db62f96878d3297f1222b7dfb5bfb1319a31caf451c870c7310ec  491_no_plan_for_each_record.sql
-- 89d3016b1bdbe40e659a5e341ee999e04965c111c523bfb264c26a7dbf4c4478  492_activity_of_keys.sql
-- 7e2c1c07ef28c793f3cb87b7638a5d5fa61b6d6dbb5579449095e62877d1bee4  493_keys_in_force_for_a_deal.sql
-- 06b4b351780629919007068ffda467fe6daadcf3e651a977d9df07c42c98f50b  494_calls_on_deals_out_of_sight.sql
-- 977d97db9e8e7a4462f5fe259e9b7f40f5cfcf6be1bebd4610620f99b56d9966  495_new_session_token_with_a_passkey.sql
-- c470b8e93d3226404e0fc0c3f22765721240fd5dd4d7fd95fbc162fe2a76dc20  496_tokens_end_with_their_family.sql
-- 01fc32ae4138df638136fc85b288157b3080cd788cf9eb5939124aacf1a6ef59  498_scopes_of_keys_whose_admin_is_one_no_longer.sql
-- 9ecfb01697d70b49f28b05262f1b99577035e06c5c295baa0be24714c0363814  499_api_keys_counted_where_they_are_made.sql
-- ed0f49dada7f50f29292fd841ab8cbe579a9e379b208e608c50954424e225a2e  500_codes_of_known_browsers.sql
-- 34ee05013a14f2554f5cf5e3b61fe74299be1b46b006da22027315c0ba068630  501_clients_in_the_trail_of_the_only_brokerage.sql
-- 6c6cd3a536532b079093c3ce6387cbd7e2ceb41b76a4971a6f80cbbf844a9403  502_brokers_who_can_review.sql
-- 630843e803e767e1bdb11ff7ae5ff5094f82414742f769bfb948c8597ff726cd  503_a_removed_buyer_holds_the_exclusivity.sql
-- deaf8ceacde5694c774b767ef1ae9aff57c3747e210036c5e4e158e20c1dc8db  504_ndas_by_how_they_stand.sql
-- d1d4bab234603803751056d8f94b3982b851f583f826d9bd05a0d490ba42287c  510_no_ndas_on_withdrawn_deals.sql
-- fe9322ec88b9810e66cab64a8027735db964685dcab240f4d6f1e3d800a836a9  511_no_questions_wait_on_deals_that_are_over.sql
-- 4d0c2dc5cd7bc294be2e47ddf808dd17f32029ddfecec00903e3ca5ad1a5b6c5  512_activity_behind_hidden_records.sql
-- eaabe3c4cd0c5e7bb9ebcd0b2423db01382873b8a53e8e874787e693da8c7374  513_merges_beside_batches.sql
-- 3ade67eccc3995bef578af3556c78e1498cf0afd3b581418de90abc59bb3cd0b  514_choices_of_deals_in_sight.sql
-- 0ccdefc4bfdf14deaa88287fe5f82dab794bb39543b49c3dec7f1011ffab35d2  515_participants_who_are_not_active.sql
-- 12f1694b1f3a59940ec343fc9a2b7f317e8fbb18c5d840602a2f778b0f766460  516_nothing_waits_for_those_who_left.sql
-- 7ae0cebf65f9d54e7b8a928ac249dd2138584330e0d4c731b93dc65e15bf70d1  517_findings_are_owned_by_those_who_can_open_them.sql
-- c685f453303fc7662258f7e1684d5d06ebf747f98d5c51d553c9289a2fc60488  522_send_a_period_again_in_parts.sql
-- 4256cd654de3f492b592e8aeda6ec6d0a4a79de1ab4e13fa220c3750e83f5047  523_wait_anew_after_an_outage.sql
-- d808260d525ed747cc4aa528f0ebc294e938d547fb6269ea7868ed207bac3e64  524_merging_an_archived_contact.sql
-- c5ef9e98f72e94b390c4b4ee5eca6add00950be525ae2314161e443a5a09760f  527_parts_in_another_role.sql
-- 8a3af44bcfe055041fce06fa782ff84caafb889a21e93eba5b20e396a19143f6  528_first_answers_of_people.sql
-- 79f492416dcaae9c2ba5aeca0bba09b144859806b807d8c71929990c5c18331e  529_first_answers_of_those_before.sql
-- 2e6f8ff8dbfe9ec9b0d1d367814cb3da6267eab2fe0f017acdc0de0c51f462c9  531_first_page_by_what_waits_longest.sql
-- 16f107266d052afd4ae7c8d4c5cacd19d7ad922686152f879a29b49d13ae248b  532_who_knows_whom_on_one_deal.sql
-- d175b382fc9b5729f2e8b8aecb2fb793c445effa46824022be01a21356b8eca7  533_words_in_lower_case_by_the_database.sql
-- ccac80305173d137d95691e0c215933159f0b209221b0c57a526894faf7024a4  534_conditions_due_in_three_days.sql
-- 61e2ff3ecead765191ec87305d5dc991aecd2c12e79c182da62c20f8ff33a4f0  535_records_of_what_changed_nothing.sql
-- 499e1b77b2afd77afbc018d3501506122118792861baf84a8b44b624a25f422e  540_brokerages_by_name.sql
-- dceab0c94592292c1fc97f16afad9436e18351303df2f9c005db016c6bcfa04e  548_changes_by_their_number.sql
-- 5ea1049658ba499afd750431e99f9943418ffd4f800dfafffe9711989f642b7b  549_webhooks_in_line.sql
-- b2b5d96b5eea93e46c4d3aa61619240b6e3571208983f3fc0255b3cbf88e44b3  550_webhooks_of_a_brokerage.sql
-- 1824d32303d53ddeb48e1f83e21e0e49b1088f9049780c30568634ee852960a3  551_webhooks_removed_in_portions.sql
-- 651c2bfcf3f8f42b58768053021527d5ad4c5ddefbb7cd5e65a4730401160ed7  556_erasing_those_of_many_records.sql
-- 755b30b6f7c8af76e5353fa261bc3454a8d5124ba4d4f84934ee02fd727e2840  557_answers_by_whom_they_name.sql
-- cc70664170fad5d68453387b440d2c6c43e8fe2e67e4da0c2e28e69b4dd81f3c  558_changes_of_findings_a_day.sql
-- 5fb175cccca08aa0b743aee0264a1510f834ff83589e1c7b2c76bfe8ab229e16  559_own_data_within_bounds.sql
-- 61c49a6de9d2ccd9d40fcfe03aa2349a586fa24fd8242c2417ebad6e9436f8d3  560_notifications_read_in_portions.sql
-- e70b6e06541c68c15c4d8428b7c020af70acf6b4f6b3ff96b14e9178cb37b21d  564_news_in_turns.sql
-- 2a0cce50ccae0be9eabb9a0df7e9515b96799f2ba6de45f6b50a430cc25cbc18  565_indexes_of_mails_of_news.sql
-- 5be6b8cb1f3299f482cbaab1f66206be77acb521c687a6b46244acef0f6c7879  566_mails_of_news_go_on.sql
-- 47d6e3052b47e55e2cef5097af76817bcb3eeb1cb5d6db0501c265f23d69ff7f  567_people_by_index.sql
-- 4162feda1b1bee493aeb594c5e413558ab7781e6bf11e930925093e9859413f8  568_tool_call_keys_cleared_where_they_come.sql
-- 4c8cb2f3905eefdb5c97d5423694073bece5601bab4ccef91d081bee6b89f935  569_renames_a_day.sql
-- 2690250617e0ad6f37da5f9cb55dcb10db6f5ecde8d742db90317b5874e9c615  570_refreshes_a_day.sql
-- 30f0f0e0122c5281612a94c5402e6aee60be13b984c64a9c1f84350c1686bb4d  571_purges_in_portions.sql
-- 7370386e39667cc2de437cb8b1190c7a87e0c5e3f3afe1dd42a2c6d4d4ee379c  572_tests_of_webhooks_by_what_waits.sql
-- f3ed121cd1cce059dd8f0d8ad5750dc5e05ce583f2bae7fb690146ae83d26c63  573_ids_in_the_order_they_were_made.sql
-- 8c569dd1b4359d3cb37e8e7c48c58d729b559d25546d85282956090f4ca6e0de  574_addresses_cleared_by_person.sql
-- ec2a47be0d6ca5bb1e15666e6c3f7b427cfb984b91c2b2ab82100bae0fe43408  575_webhooks_held_for_long.sql
-- ce66e25c47df50fb02771b1e7762a4a7fd178949dc1a6565e5c153bc50c7db6b  576_news_put_off_together.sql
-- 2941b182ac1a9f7b10aa18f37419d3897e0903f8bdc8d9279c778e8153cf0ec6  577_purges_by_table.sql
-- 53aa2a7332f86e3538e57e8d968db7d485b107633c8607c05f12ed5adbe866dc  580_refusals_that_can_be_followed.sql
-- 2646ac876fac55e80b71a1ba276967af2dd588e0a82989d5314414a4a0c43d28  595_owners_of_conditions.sql
-- 88beaad10f28743977606e1c104d38bd0c19a4a49f97d808d1a2dda1461ddca1  596_home_says_due_on.sql
-- 71fd9206d34285fa54a53e8435ebae7626fdb2b8bb4a1b856f8ae35bbd90e301  598_sides_of_advisors.sql
-- a981c6ddc962cfbcf4cce999c5d3204a0a289b8e1bd50693b904e56f90825b01  600_dead_links_where_they_come_up.sql
-- e77f8aac74d51d8056ff669e54582606b4076e75d6b1458915a6d74836cb7495  601_last_mail_about_a_deal_by_index.sql
-- 7721f9c469afe92cec89f0572bfa7376d51939b1d6263d88cc9ebd78a405c86d  602_indexes_of_living_tokens_and_uploads.sql
-- 4d98ae1f7abb81154b508da133e8a86447666dcbe507e64329aeafb879290981  603_connections_by_living_tokens.sql
-- 0d4a94cd42eec185cbfd6a7ba826d0467d031a78f795378004fc436ac87cb552  604_uploads_of_a_day_by_index.sql
-- 9c4d0b14087a1cb26d8dbc15aaff4e20f926a8a669c733db05e0f5aaa6c5729f  605_invitations_of_a_brokerage_by_index.sql
-- 294ccb4397eb27095be64ef1d744a2f5a00f7d37eb9481bfb7a4b638ffc8af9b  606_waiting_events_within_bounds.sql
-- 327fb3685bb1b692938207fbd1cce22339335814558519e8b30febc4041ade78  610_rows_of_participants_planned_once.sql
-- cc9780e9cb8343dc46cc5c2bea55e01528fc79a675af23f8f0355f078adc892d  611_counts_of_mails_by_whom_they_name.sql
-- ac0e2c93fb3d60671889f20ce4c1f5c20c9843dd5ec490f3be26f57dd5648530  612_indexes_of_counts_of_mails.sql
-- 5557258cded955299bc4ccb14e5548b78565bab8db9e5b1957af7777f38fc121  613_holds_by_index_of_contacts.sql
-- ebab21ed6d85e31e94fd8dea668ca8ac56e34c9242f9efd8e0bcac71d7a7e337  614_own_acts_by_kind.sql
-- 3fc486fe02926e740a31327b54c233f7194c0e7c0ddf2a0a7c67df358b99f9db  615_own_noted_acts_by_deal.sql
-- 33c20e26b20fd552b301fec74210503f821b1c46b4a67ff5c9fdeb14169670b4  616_own_acts_on_home.sql
-- d02978b18234091b529a9c21e754dfa9778e034e4b504092cda70724c9338478  620_time_zones_by_name.sql
-- 488db404d39ac9d50be131023cef1058d231d5570052151cd1e00eeda0b6eda7  621_authenticator_by_index.sql
-- 5dd91996344aa92c5a502ecc477eda9218ffd3856b264825609811076d8572f2  622_addresses_of_an_import_by_index.sql
-- b2c2a82f98386f481802de3a316a53ba1c1ae7e9cb1497f03ccedfc04410085b  630_a_hundred_sessions.sql
-- 7ba70d1fc8b0c1013d082147065f2e91b2b37264b2d525649ea6cef9e0e2afe5  631_mails_of_news_by_index_of_deals.sql
-- 2e78b07718cf523a5340102533b40171c071fd9fc2b455baa2c71523f44e3ae9  632_documents_of_deals_by_one_index.sql
-- ca7687651b5de1661a1fae5c7a87b7139ae2650d9707b5ca04bcfdf0cb96ecb9  660_ndas_of_buyers_in_tools.sql
-- bbe465110d90e555ae76d5166d9bd97cf4aac21f139ef1c8b2464434d4cb7819  670_changes_of_address_end_with_sessions.sql
-- 7a40305f7dd03fcd58d5a177e10aed743f175755591b3a4685454c4c553c6b64  680_no_release_without_seller.sql
-- d46f14a9e2742af21f1f69cb9360dc6017e2bdccc3a09fabb7b86aee6112d8b7  681_exclusivity_that_ends_later_in_a_sale.sql
-- 8125f6a799ad3c1e9700377da054efb9601d475065434ad8a116533c218af08b  682_declined_offers_wait_for_nobody.sql
-- ae721ffc04c8af95ab410ee0590265430e479cea7b8b76734084bfa63e47a74f  683_deadlines_moved_close.sql
-- 899fd548ff2c713b9f735cd97a9d00513a74a78ffff787f61deee8652a2664ef  684_room_told_to_who_may_add.sql
-- aaf7596ca63e3313636bbe4b19676f0cda423642ae12de4642ef187cf6f9cab7  685_documents_opened_later.sql
-- 07bf9af31a21bf8e4edeca3fa24e1da360310a4e6b5fe5948fe886b9d63f4a21  690_deals_of_a_brokerage_that_is_being_deleted.sql
-- a5716390dafaeaee8a2c47b578acd73a0caf5d8ef96a49beb541ab5120361621  691_tokens_of_members_who_left_end.sql
-- 06f6ff7de0e2e3b93e9aac8398d4db78b060f0afc031bd138946861b9724587b  692_ndas_of_buyers_alone.sql
-- 542493706b2cde6364abc1cfee50a54165278977edfc0e9d2f4350b59f107ec7  693_places_in_the_workspace_end_with_the_nda.sql
-- 8e0f6469e42c78eca12ab9e5d495208d90e79258865ba772a0a55175fb589aab  694_sessions_end_with_a_factor.sql
-- 809144cafdf3531f399b171c68bb8adb034de3267e7605fb8c5b7e85d1e1eaa9  695_ndas_that_have_ended.sql
-- 7ad0cab889548a1eb94d77232880e8b6bb6542909086ce630b700f58b63643c7  696_exclusivities_told_as_they_change.sql
-- d91ed9dcd540f42826efc71e33da6b933f5b45458d8fb21798bff726f1a71131  697_the_only_broker_of_deals_being_deleted.sql
-- 0a89f5c94607a00b2bc1d30feed3e1ee6d59befa7fc23739cd18439d62f0b66b  700_grants_end_without_a_factor.sql
-- 9d6c68f658201f1a98652564d5a535446d510b8c4565c43573140724f5916e70  710_plain_messages.sql
-- fbba7c41570c4bb3ee8824e66eceeaf006f5c9be51386bfeb73f9c871d819216  711_addresses_of_an_import_in_index_order.sql
-- d442e9bb3d2ee3e1b6a46b6d8221fe293152c24588c5998cebc5a095a9909278  720_address_changes_end_with_sessions.sql
-- 72e70f0154f74a8fe49c32a3200833f4c17bf16bd91aa537159775ba2cb279e1  721_nodes_and_their_keys.sql
-- cfc34194f598ce0a9957fd643bbdb49248f58fc487162eb9f4d786d45935608e  730_questions_come_back_from_nobody.sql
-- b0fdf42edf55816aa67a72362f0e10cd2a7b539a1a84275d59d4135cdd242350  731_activity_further_back.sql
-- 80a2c5f7af9be97a045db50cf141527e20dd563de413cfad15baa848a4e27ce9  732_ndas_that_follow_each_other.sql
-- d15b311446c8a8d29fbbb3655deea236e7810568af1684ba4d97c643dc0d9fa4  733_invited_again_at_their_address.sql
-- 23b587f83423fba1025a77cf2e0b3cd3c74ade707215521db589a437d75ce1e3  734_questions_that_waited_for_nobody.sql
-- 4c932780fa12c9bccaf1a98767da2fd506cf3465a772477cdfa1765d7cd1779a  741_addresses_by_key.sql
-- 1489cbfc14ebdee6deb9b53bf65b41997f5e58a70b99ab241d72629709efa087  742_addresses_of_keys_and_of_nobody.sql
-- 75b9e06817b5897da1b9336f06be024dc40700f17032d2c8909ce8cf971df719  743_answers_by_record.sql
-- f4520aa2b092bea3366e1d8caf814168810b6c12a21b60547eaa4db0902ee76b  744_who_left_is_called_as_then.sql
-- fd18dd23ed771193582473fdde75af31c63a44981b83cac18d4d9afb28fc5825  745_erased_people_lead_nowhere.sql
-- c9cb4b3fcd34926a1c7b80e632536b37424e5edba5b3e3fd6d1c260f1dfa3c1b  750_contacts_erased.sql
-- f92912532a161802df96d291533a091c1b43055d70aa3b31df6f0fce3b16ba48  751_everything_about_a_person.sql
-- 62f0df5843d2af71cc399533c19d21a82e2b9397bbd5673314e11ea2c928e9e6  752_no_names_of_keys_in_the_trail.sql
-- cf3952db73bcbdc5eecb67dfcfbaf7c48eda117831362cd259c4068b6eaa36bd  753_indexes_of_what_is_cleared.sql
-- dae682205d795b44e1ebb1985572ef1c407d11e9616e7902fd6ffb35b68d19f8  754_withdrawn_invitations_forgotten.sql
-- d83012c4c23d4d473f164d1174b5fbd1059283432dc5486f564db657c2810739  760_clients_of_audit_records.sql
-- e4cf17c304df4171d39e579f4895ba0b89ddbfa9deb281bf2dd9b876ab0b507b  761_hosts_of_webhooks_in_the_trail.sql
-- ac86b57474f01e563f2f83d9568849525c9337e3122376d6aab2211a0b775c77  762_what_ends_by_itself_in_the_trail.sql
-- 254e4accc175c2237619ddf6be09fc83bda3534784e2cc6c54ce0f3135582c4e  770_buyers_who_left_told_with_offers.sql
-- 3c4a8d5cacd76c3d214933eedca1d93729e967df66f4e70bb32b0c7ae2d56f29  771_listings_sides_and_advisors_in_tools.sql
-- 21a727499c5ecc5dc16faecc997a671026fe2d3748825b64c930de374d1787aa  780_words_without_accents.sql
-- b46d4016c727d3328309bdc1fbacef40d1e3aad6383ee77c907741cc741587b0  781_contacts_by_folded_words.sql
-- dce84cce9c7e29305a6cd5ab9c50f3e4251e47ec996bcb49133c821926a7df3f  782_searches_without_accents.sql
-- 599d39d69a5d9eef5b2a3fd52f519d7eb75246cea146e0722775696db4f51e8d  783_contacts_by_written_words_no_more.sql
-- 22c1dfebde9ec8396c48e774e8d9ae5796fcacf3c00cc6e524f72c2f144c7b08  784_contacts_known_already.sql
-- b40e7b8d58b386cc42972548f4c5e0b043ac33e7e3cbe5adf066c9bae2e67adf  790_contacts_by_folded_name.sql
-- 397f5bd6e5e0c13a7c50cfe164727677b57ed02eca02e9372371f9d7a14cd22e  791_names_sorted_without_accents.sql
-- 064bba145bae8e8a8881467d579ae50ae2eddbc2e943c7e4aaffa3a6eddb3ceb  792_contacts_by_lower_case_no_more.sql
-- 8587b43885bbc43284826e5a97711832d7cd16afb90f1f7d8965d0876f6a6290  800_links_and_times_of_mails.sql
-- aaa18f1c9d6a48d0b27959eda7d6ca8423b46559e85dc3a8b5793bc00f3de278  804_outages_of_the_mail_server.sql
-- ec02228c32d744e6acb18893f7dd773ca07cec87d778bc7a6e707ab167fc53b8  805_security_notices_reach_their_owner.sql
-- e014178910d65511f5486b6ac7343619cca54b4a0001a6851c829bcd0d51c378  806_waiting_mails_have_three_days.sql
-- 72e441ac37254cf80b988dcbb52b464a0d147d50ef0d3a71d004b3c4346a3ca3  807_mails_that_hold_no_more.sql
-- b8b99ba633cb3cdcb8b66e273e5136151495968d88f6dcfcf181e80155ea28c8  808_turns_of_mails.sql
-- f8c2c4c22d09277551862c6c4781d07b61a460334a12d0fd19f7debf896c086f  809_turns_of_mails_by_index.sql
-- cd1f5e25f8be932eb9eb8a44de5d6a41e1100e195f007664b9da7190bdf28536  810_mails_in_turns.sql
-- b50b6adde5f4a8c245f1cef41435cd2f1b59fe3a45d2fdee9b2f169cc4ede3f1  811_mails_by_urgency_no_more.sql
-- 665e3f3b66c3c777b996a42cb712bbd1c1ae17875b1dd9b16f5508efc1103a41  812_resets_from_known_browsers.sql
-- 34926d895dae3fcb6ac351c0b3ca2f49803b74599d7170096681de6043b213b5  813_invitations_sent_again_last_as_long.sql
-- e2122defbf55a0628480fee3ac896b6a8a3a24e0ab9b62b0acfe6b7049ceeb5c  814_one_mail_for_a_day.sql
-- b28c7deb999581a447f5b4b33c5e9ec0e7fd42b8521c777c58174332d6bef965  815_mails_to_a_mailbox.sql
-- 3f60bf37f19e8ca0034290e2e3b910ec894f7f39ffd014748e7ed5ad00fca4f5  820_stores_after_a_restore.sql
-- e26c6e1b74fd1e25a234a6aee44412df5713f80a561bd50009e5686dbf746859  821_documents_missing_in_backups.sql
-- 7bf84d8d001696089a04219cc2adaf67ee6a85b0b061d8a21edd62e9e1c9669a  830_invited_again_themselves.sql
-- 2cdaaf74e9c905b1849bb4e9cd04b425a745e957d527bdc6a0c22137af412f50  831_invitations_of_barred_brokerages.sql
-- 2b57f6363d854961403d9f27b74837f84e30baebe222734436bf40f3fdc13614  832_invitations_of_who_moved.sql
-- eaac19575c23c55c4446c5a1f2d8c5570c1ded269800e59bdcbaf10d354ec7f1  833_addresses_that_were_invited.sql
-- c97ae7fa5d204f6e08508a593c52785726a64a0f0563a9a5f64db0694a8c0356  834_invited_at_two_addresses.sql
-- e54660e591fa2a0b27178d56bdcf1eb1f1398253b78532b0e3fed44a2fed252f  840_shared_clients_stay_where_they_are.sql
-- 7ce190d093b5c6d5631183746afc0ca7fc2dd92ff7f361799af5f04d40f99d96  841_refused_for_a_missing_factor.sql
-- c847f55a29a9b34d1966c49fcf6d25d3c3d1b5b31ef3e0d3a46639abaefe8f9f  842_people_leave_by_themselves.sql
-- 29f5ed52f127e1631ade4f3d10bd4e184771b2b5e6bdcdf8e8895268c6356132  843_sessions_ended_by_an_admin.sql
-- 2e75af04e262221fd0ad6f324d357e1ad8fd0fa02ca746a69e6c0e54bd88e342  850_contacts_erased_are_marked.sql
-- 8d76c685374dc216ab19edeb1c8d0e65fbc092b6a9bf2456ed0696daf7dfe555  851_contacts_erased_before.sql
-- a0345f460c6981a7d698aff0bf2ff916d3f4fbe3ceed25d293f8071e9c3c16d1  852_deals_removed_are_told.sql
-- f887b4f2415d0601f1f57cdb513527ac74689d1a930a5cfde1d1e5affbd230c7  860_steps_made_once.sql
-- 28b531267035f026b4d467a9edccff4e2aba7cdcad6b917f13e930799587c8a5  861_changes_to_accepted_terms_told.sql
-- 35ba2af1b8b9687ba7c02f6aa2a0d99190f62f68a9d6c4b9de6bea16ee9f2c0b  862_stages_and_admissions_told.sql
-- 592536b5fca65be39580ed83fb8ccef369700ca450c65c722edf660696b0eade  863_words_for_their_reader.sql
-- bd65d41fba22825e1311468ce73b693bfe69a32bfafcae54ec8bd078fcb3a90f  864_read_where_they_are_shown.sql
-- 025da38ca77a3cc774703417f64298eff187200bc3ca67346ec80beb96c2e303  865_offers_declined_before_exclusivity.sql
-- bd4237c4fa07b6d269f9143c88c5d486e6785f8d765213e832b914d3c641f0ab  866_own_places_announced.sql
-- cbd2e82cacae0bbca8d360b307ddf01335312673f10c542b9e3124d7f61f863f  867_changes_by_nobody.sql
-- 9e08245ce0289d00c8225f7511b75e0a46da5c22eccddc0044b9a88d9571af39  870_brokers_from_outside_take_over_nothing.sql
-- 6ad3c19f84fdab0804470a55661160cefccb8106e4f1668953d91920eb09cd1e  871_invitations_end_with_who_made_them.sql
-- c9ec8a3ce2d86927d14e74a6fdf6ee3b8781fa853a3fb7ad9386caa5ca8d4e17  872_keys_and_who_they_work_through.sql
-- 060600e00c07126d0d7a0d583b4a97bf0867f3917a456f59fa24fd4afc9b6314  873_invited_once.sql
-- c565facd67480e60675a229352669145cc1f28d443cd5be4e8025e0a2df5053f  874_what_is_told.sql
-- ad2b18906225fb8912f81d1b5192b12c7c560d80b861082f592e28f2bab65622  875_deletions_told.sql
-- bc7c5d64e5dc7b88569ed10cfcf223670ed904d989dbf49cbca734a3736ccecc  876_clients_in_notices.sql
-- 7e251b21913b673dc03638ca26fd1c6930020bf0025056f47ecf66be9c13be06  877_keys_that_lose_something.sql
-- f2d397ae63bd4d163db99c57e7c8d1b9b41810ba703bac83f27e9cfa8da4df62  879_deals_handed_over.sql
-- 62a96a587a7fd4aac5c247fed4135ff732c71bc2a783f5b14166fa1cb4e35914  880_deals_by_broker.sql
-- 0b119f06a23b5f60352a5e5111d71bb5f94a1be1aab438c280105286583beda1  881_invitations_to_brokerages.sql
-- c2d66474e63cd730a26a5af13240d3387613a9adc81b697143ae86f287d402ee  882_deals_opened_for_others.sql
-- a76246e2a079c51599e6e9c5a82fc0315df66ab4ab7688b2aad31511e089a0f8  883_erased_as_they_leave.sql
-- 6f3b32ae8dd8549ad7f6aa9b8ea7c03c3cdb35a3d344fbc0617b253a967b5981  885_merges_into_archived_contacts.sql
-- 9b51bfcf5ab5febf579dc6e20b6edb21bff688bc4180b07d527655ef88f5af3e  890_names_of_opened_documents.sql
-- 6a2ed0e1574518883302c12dfe21a92528f456936b47b697c59dc4544280377e  898_adjustments_in_their_currency.sql
-- 6c7050b1ac16f9b38a086192ffb2d092316c9df4041b6899e187bb716813f25e  899_offers_with_their_financing.sql
-- f5e1cbb1f770fa94ed044a4eef014181c2e0ce7fd85ad1a7176c0e34406145e8  903_hosts_of_clients_by_document.sql
-- 234fecf097cda148b9f0554e6f962b273a8ab14f84f8a23bb56c31af911dc02f  908_refused_records_hold_up_no_others.sql
-- cf4090b20763396746e0a4c3c18192934edeaa287ba994b9c0598dca97441a35  909_deliveries_by_first_attempt.sql
-- 4e5f9c0c2724af89db6ee5389f57bfb86e688acaa9a713661b6fc4facbd88955  910_secrets_sign_as_long_as_announced.sql
-- acbcb140d80739e15d6c57b399d7fb7c343353d9de87fffb39105932f4dc543e  911_changes_of_deliveries.sql
-- 2ba85b945c13ff79430d7fe855be09ea304cc774b9a07d58c00c0830eff02b5b  912_waiting_invitations_keep_their_role.sql
-- 8951a826f27565f2ed2d5da06ef5c8cbfcb9ff18fd20b9c177119ebe3b0eae4e  913_keys_that_stop_without_a_factor.sql
-- 3339b6d5c4f2e1ed5abee9ea72f56a57e11bade7d0ce261f1a8999c0104a0a8d  914_deletions_told_to_who_joins.sql
-- 43aa2fc57a3ee1bbd8d4268b4c3c5ab6a8d46992bd08baa158b923492984c531  915_slow_webhooks_of_a_brokerage.sql
-- c913f91ba2a303d7def866a1387f205e9b6561aa1c37398f167677fdd3291e1e  916_places_of_advisors.sql
-- 4e7b55ff009e3ad973e7692b9eee97bc5f37ca78849c399a257f54ba44b5f66c  917_owners_who_see_the_deal.sql
-- f8dc6664dd5c987a04f95107579b95d15502d161f14c141b3ac0d98b3d9ba2be  918_withdrawn_invitations.sql
-- 3b08e35c03be139f0785c5835bc5fcb6f620e10a0b096bff26866a1ded2175f6  919_invited_to_advise_somebody_else.sql
-- f663a5f6c2839e48c2aa519fb5eb43e2edf34e0070de43c7606dd9543b202943  920_all_that_was_removed_can_be_restored.sql
-- f893c251a36b167bf057b37368d3928d3ad5119006bdc42467096ca4c916704b  921_closed_documents_leave_open_pages.sql
-- fc8acee64073d1aa1a0a2cbd1487732a2a3b5eaabb396bf578b0d664d3746cc0  924_contacts_known_in_any_script.sql
-- cb91d0d0da889da3268a32f823b84609095d34d7bb7eaf1ba2d3feadc1c570d0  925_owners_of_findings.sql
-- 4d6146c4c5b9046a99623bd71c3968e5392aabbb454ff645ed19dc91b751ac9a  926_corrected_answers.sql
-- 17cfecf082fabcd11ec92aa1b3bd114daa34d11682f06c2c0d95995136bd5719  927_when_documents_were_opened.sql
-- 2534de72f1508c8c9239a5bbe8b00992799d599377472cc95cbda17e3b935c30  928_questions_of_those_who_left.sql
-- 5d3ada4de500100a74a6ff7924c9fb9f6ea4c54440dcee457359bde757ce9546  929_conditions_of_those_who_left.sql
-- 2aa8ad6aff563f9f0df624a95bb112a40238e6069390219ed3697857a1b9b29d  930_no_room_before_a_body.sql
-- 5ef582478b720b1389126ba50c6e00db29517d4df0c8f075cd68335d8b69e702  935_advisors_of_taken_over_invitations.sql
-- cb9b6978ee2983127b423268cabb40ebbbead53b48dc09bf135e77f8766b086d  936_changes_that_wait_told_to_sellers_advisors.sql
-- 40c5da54f2560935ce0af3aa35a2c2359dc0b662ad5739f32755cedde6101356  937_waiting_advisors_leave.sql
-- 043a7965413873411114b64a0bfde7634d1b85bd59adc3cd652c896933e8279e  938_viewers_have_no_side.sql
-- e20537dae32a449faeb5bdf78fc43d36f09bbd979ca811f62c85312518b17aa4  939_exclusive_buyers_are_buyers.sql
-- f61fde0f6e9fef09ca64bc2af8ccd547e09e2a1f39e371115238881a2a6471dc  940_home_of_viewers.sql
-- 2acc042c1b8a7b9f1ec0ccfef9851c944904e96891f96e0eb1972fec03a92ba7  941_deadlines_of_viewers.sql
-- 5349a8065cb6a337828dd21d6bc017e04f0e66cf5e99368789645f94a0b858db  942_only_buyers_are_reminded_of_ndas.sql
-- d602e60b119487bd892f53f458431efba1947b143746ad3679116d73b0e3ab14  945_words_without_vowel_points.sql
-- a940fe8ec088dacaeb1054686e65b1e3610207955427d9dddb2f65fe3be5c2f6  946_contacts_without_vowel_points.sql
-- 5c0d9bb58b971f3a81da45be12fcab21163bb6852cb637d1d37f2c78c5fdbec2  947_searches_without_vowel_points.sql
-- 518c91fedeba41c4b3510776d549272fd3fcc56333f21aa4ee4b2ab17311c415  948_words_with_vowel_points_no_more.sql
-- f84c4bd8a1aae54a3e74135b7ec50fd7882a889d162654714663e4cd85cdedfb  949_lists_of_names_without_accents.sql
-- cb4c07a5e6659ea465d918c92daa75958cc530eff6096cdb4b912ff3d2533331  950_time_zones_of_readers.sql
-- 61e0314ed11ef141de0d401bcfd083d5ec6da18335fac2219442c21b8177c660  955_changes_of_what_is_seen.sql
-- 90d8c16cd1ae5aa62f2c76df1fb16c1991eec35271e27ab1a645213e51ecb63a  956_no_new_device_by_a_new_password.sql
