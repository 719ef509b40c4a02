{{/* The files that holdfastd reads. */}}

{{/* What CloudNativePG makes replaces what the values would name. */}}
{{- define "holdfast.cluster" -}}{{ include "holdfast.fullname" . }}-db{{- end -}}

{{- define "holdfast.databaseHosts" -}}
{{- if .Values.cloudnativepg.enabled -}}
{{ include "holdfast.cluster" . }}-rw
{{- else -}}
{{ join "," .Values.store.postgres.hosts }}
{{- end -}}
{{- end -}}

{{- define "holdfast.ca" -}}
{{- $own := dict "existingSecret" (printf "%s-ca" (include "holdfast.cluster" .))
    "existingConfigMap" "" "key" "ca.crt" -}}
{{- ternary $own .Values.store.postgres.ca .Values.cloudnativepg.enabled | toYaml -}}
{{- end -}}

{{- define "holdfast.ownerPassword" -}}
{{- $own := dict "existingSecret" (printf "%s-app" (include "holdfast.cluster" .))
    "key" "password" "from" .Values.migration.password.from -}}
{{- ternary $own .Values.migration.password .Values.cloudnativepg.enabled | toYaml -}}
{{- end -}}

{{/* A connection string of libpq: (list ROOT USER CLIENT_CERTIFICATE_FOLDER). */}}
{{- define "holdfast.dsn" -}}
{{- $root := index . 0 -}}
{{- $database := $root.Values.store.postgres -}}
{{- $ca := include "holdfast.ca" $root | fromYaml -}}
{{- $folder := index . 2 -}}
{{- $parts := dict
    "host" (include "holdfast.databaseHosts" $root)
    "port" (printf "%d" (int64 $database.port))
    "dbname" $database.database
    "user" (index . 1)
    "sslmode" $database.sslmode -}}
{{- if or $ca.existingSecret $ca.existingConfigMap -}}
{{- $_ := set $parts "sslrootcert" "/etc/holdfast-secrets/ca/ca.crt" -}}
{{- end -}}
{{- if $folder -}}
{{- $_ := set $parts "sslcert" (printf "%s/tls.crt" $folder) -}}
{{- $_ := set $parts "sslkey" (printf "%s/tls.key" $folder) -}}
{{- end -}}
{{- range $name, $value := $database.parameters -}}
{{- $_ := set $parts $name (kindIs "float64" $value | ternary (printf "%d" (int64 $value)) (toString $value)) -}}
{{- end -}}
{{- $words := list -}}
{{- range $name, $value := $parts -}}
{{- $quoted := $value | replace "\\" "\\\\" | replace "'" "\\'" -}}
{{- $words = append $words (printf "%s='%s'" $name $quoted) -}}
{{- end -}}
{{- join " " $words -}}
{{- end -}}

{{/* A store of kind postgres: (dict "root" ROOT "user" USER "password" PASSWORD "mount" FOLDER
     "variable" NAME "certificate" SECRET "serving" BOOL). */}}
{{- define "holdfast.databaseStore" -}}
{{- $database := .root.Values.store.postgres -}}
{{- $folder := ternary (printf "/etc/holdfast-secrets/%scertificate" .mount) "" (ne .certificate "") -}}
{{- $store := dict
    "name" (.root.Values.store.name | default "team")
    "kind" "postgres"
    "active" true
    "dsn" (include "holdfast.dsn" (list .root .user $folder)) -}}
{{- if .password.existingSecret -}}
{{- $file := printf "file:/etc/holdfast-secrets/%spassword/password" .mount -}}
{{- $_ := set $store "password" (ternary $file (printf "env:%s" .variable) (eq .password.from "file")) -}}
{{- end -}}
{{- if $database.insecure -}}{{- $_ := set $store "insecure" true -}}{{- end -}}
{{- if .serving -}}
{{- $_ := set $store "connections" (int64 $database.connections) -}}
{{- if $database.group -}}{{- $_ := set $store "group" (int64 $database.group) -}}{{- end -}}
{{- end -}}
{{- toYaml $store -}}
{{- end -}}

{{- define "holdfast.filesStore" -}}
{{- $files := .Values.store.fs -}}
{{- $store := dict
    "name" (.Values.store.name | default "local")
    "kind" "fs"
    "active" true
    "root" "/var/lib/holdfast/data"
    "durability" $files.durability -}}
{{- if $files.interval -}}{{- $_ := set $store "interval" $files.interval -}}{{- end -}}
{{- if $files.allowNetworkFileSystem -}}
{{- $_ := set $store "allow_network_file_system" true -}}
{{- end -}}
{{- toYaml $store -}}
{{- end -}}

{{/* A section without its nulls and with whole numbers, which Helm would write as 1e+06. */}}
{{- define "holdfast.section" -}}
{{- $out := dict -}}
{{- range $key, $value := . -}}
{{- if kindIs "float64" $value -}}{{- $value = int64 $value -}}{{- end -}}
{{- if not (or (kindIs "invalid" $value) (and (kindIs "slice" $value) (not $value))) -}}
{{- $_ := set $out $key $value -}}
{{- end -}}
{{- end -}}
{{- toYaml $out -}}
{{- end -}}

{{/* holdfastd.yaml. */}}
{{- define "holdfast.config" -}}
{{- $config := dict -}}
{{- range $name, $section := .Values.config -}}
{{- with include "holdfast.section" $section | fromYaml -}}
{{- $_ := set $config $name . -}}
{{- end -}}
{{- end -}}
{{- $server := $config.server | default dict -}}
{{- $_ := set $server "address" "0.0.0.0:7420" -}}
{{- $_ := set $server "insecure" true -}}
{{- $_ := set $config "server" $server -}}
{{- if .Values.metrics.enabled -}}
{{- $telemetry := $config.telemetry | default dict -}}
{{- $_ := set $telemetry "metrics_address" (printf "0.0.0.0:%d" (int64 .Values.metrics.port)) -}}
{{- $_ := set $config "telemetry" $telemetry -}}
{{- end -}}
{{- with .Values.tracing -}}
{{- if .endpoint -}}
{{- $telemetry := $config.telemetry | default dict -}}
{{- $_ := set $telemetry "otlp_endpoint" .endpoint -}}
{{- $_ := set $telemetry "resource_attributes" (printf "k8s.namespace.name=%s" $.Release.Namespace) -}}
{{- $_ := set $telemetry "sampling_ratio" .samplingRatio -}}
{{- $_ := set $telemetry "parent_based" .parentBased -}}
{{- $_ := set $telemetry "sampled_roots_per_second" .sampledRootsPerSecond -}}
{{- $_ := set $config "telemetry" $telemetry -}}
{{- end -}}
{{- end -}}
{{- $store := "" -}}
{{- if eq .Values.store.kind "postgres" -}}
{{- $database := .Values.store.postgres -}}
{{- $store = include "holdfast.databaseStore" (dict "root" . "user" $database.user
    "password" $database.password "mount" "" "variable" "HOLDFAST_DATABASE_PASSWORD"
    "certificate" $database.clientCertificate.existingSecret "serving" true) -}}
{{- else -}}
{{- $store = include "holdfast.filesStore" . -}}
{{- end -}}
{{- $_ := set $config "stores" (list ($store | fromYaml)) -}}
{{- /* fromYaml makes every number a float again. */ -}}
{{- include "holdfast.whole" $config -}}
{{- end -}}

{{/* YAML of a configuration, whose whole numbers have no exponent. */}}
{{- define "holdfast.whole" -}}
{{- range $name, $section := . }}
{{- if kindIs "map" $section }}
{{ $name }}:
{{- range $key, $value := $section }}
  {{- if and (kindIs "float64" $value) (eq $value (floor $value)) }}
  {{ $key }}: {{ int64 $value }}
  {{- else }}
  {{- toYaml (dict $key $value) | nindent 2 }}
  {{- end }}
{{- end }}
{{- else }}
{{ $name }}:
{{- range $section }}
  -
  {{- range $key, $value := . }}
    {{- if kindIs "float64" $value }}
    {{ $key }}: {{ int64 $value }}
    {{- else }}
    {{- toYaml (dict $key $value) | nindent 4 }}
    {{- end }}
  {{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* migrate.yaml: the same database as its owner. */}}
{{- define "holdfast.migrateConfig" -}}
{{- $store := include "holdfast.databaseStore" (dict "root" . "user" .Values.migration.user
    "password" (include "holdfast.ownerPassword" . | fromYaml) "mount" "owner-"
    "variable" "HOLDFAST_OWNER_PASSWORD"
    "certificate" .Values.migration.clientCertificate.existingSecret "serving" false) -}}
{{- include "holdfast.whole" (dict "stores" (list ($store | fromYaml))) -}}
{{- end -}}
