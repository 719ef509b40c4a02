{{/* What a schema cannot say. Each line of an answer is one refusal: the values it is about, the
     fact, and what to do. All refusals are said at once. */}}

{{- define "holdfast.validate" -}}
{{- $found := list -}}
{{- range list "unbuilt" "files" "database" "credentials" "migration" "cluster" "connections"
    "memory" "times" "availability" "reach" "metrics" "extras" -}}
{{- range include (printf "holdfast.refuse.%s" .) $ | splitList "\n" -}}
{{- if trim . -}}{{- $found = append $found (printf "- %s" (trim .)) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- if $found -}}
{{- fail (printf "\nholdfast refuses these values:\n%s\n" (join "\n" $found)) -}}
{{- end -}}
{{- end -}}

{{- define "holdfast.refuse.unbuilt" -}}
{{- $coming := dict
    "tls" "comes with TLS in the server; until then let a proxy end TLS (extraContainers, ingress) and leave it empty"
    "auth" "comes with authentication in the server; until then let networkPolicy.callers say who may call, and leave it empty"
    "tenants" "comes with tenants in the server; until then install one release for each tenant, and leave it empty"
    "quotas" "comes with quotas in the server; until then config.limits bounds all callers together; leave it empty" -}}
{{- range $key, $sentence := $coming }}
{{- if index $.Values $key }}
{{ $key }}: {{ $sentence }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "holdfast.refuse.files" -}}
{{- $files := .Values.store.fs -}}
{{- if eq .Values.store.kind "fs" }}
{{- if gt (include "holdfast.replicas" . | int64) 1 }}
replicas: a file store belongs to one server, which locks its volume, and {{ int64 .Values.replicas }} are asked for: set replicas to 1, or store.kind to postgres
{{- end }}
{{- if .Values.autoscaling.enabled }}
autoscaling.enabled: a file store belongs to one server: leave it false, or set store.kind to postgres
{{- end }}
{{- if .Values.cloudnativepg.enabled }}
cloudnativepg.enabled: store.kind is fs, and the database would not be used: set store.kind to postgres
{{- end }}
{{- if and (eq $files.durability "interval") (not $files.interval) }}
store.fs.interval: durability is interval, and how long may be lost is not said: set it, for example to 100ms
{{- end }}
{{- if and (ne $files.durability "interval") $files.interval }}
store.fs.interval: goes with durability interval alone: remove it, or set store.fs.durability to interval
{{- end }}
{{- end }}
{{- end -}}

{{- define "holdfast.refuse.database" -}}
{{- $database := .Values.store.postgres -}}
{{- if eq .Values.store.kind "postgres" }}
{{- if not (or $database.hosts .Values.cloudnativepg.enabled) }}
store.postgres.hosts: no host is named: name the database's hosts, or enable cloudnativepg
{{- end }}
{{- if and (ne $database.sslmode "verify-full") (not $database.insecure) }}
store.postgres.sslmode: with {{ $database.sslmode }} another machine can impersonate the database: set it to verify-full, or store.postgres.insecure to true
{{- end }}
{{- $ca := include "holdfast.ca" . | fromYaml }}
{{- if and (eq $database.sslmode "verify-full") (not $ca.existingSecret) (not $ca.existingConfigMap) }}
store.postgres.ca: verify-full needs the certificate of the database's authority: name the secret (ca.existingSecret) or the config map (ca.existingConfigMap) that has it
{{- end }}
{{- if and $database.ca.existingSecret $database.ca.existingConfigMap }}
store.postgres.ca: names a secret and a config map: keep one of them
{{- end }}
{{- $own := list "host" "hostaddr" "port" "dbname" "user" "password" "passfile" "service" "sslmode" "sslrootcert" "sslcert" "sslkey" "sslpassword" }}
{{- range $name, $_ := $database.parameters }}
{{- if has $name $own }}
store.postgres.parameters.{{ $name }}: the chart writes it: use the value of store.postgres for it, and remove it here
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "holdfast.refuse.credentials" -}}
{{- $database := .Values.store.postgres -}}
{{- if eq .Values.store.kind "postgres" }}
{{- if not (or $database.password.existingSecret $database.clientCertificate.existingSecret) }}
store.postgres.password.existingSecret: the serving role has neither password nor certificate: name the secret with its password, or store.postgres.clientCertificate.existingSecret
{{- end }}
{{- if ne .Values.migration.mode "external" }}
{{- $password := (include "holdfast.ownerPassword" . | fromYaml).existingSecret }}
{{- if not (or $password .Values.migration.clientCertificate.existingSecret) }}
migration.password.existingSecret: the schema's owner has neither password nor certificate: name the secret with its password, or set migration.mode to external and run holdfastd migrate yourself
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "holdfast.refuse.migration" -}}
{{- $migration := .Values.migration -}}
{{- if and (eq .Values.store.kind "postgres") (ne $migration.mode "external") }}
{{- if and (eq $migration.user .Values.store.postgres.user) (not $migration.allowServingRole) }}
migration.user: is the role that serves, which should not own the schema: name another role and grant it what docs/operations.md says, or set migration.allowServingRole to true
{{- end }}
{{- if and (eq $migration.mode "hook") .Values.cloudnativepg.enabled }}
migration.mode: a hook runs before the release's own database is there: set it to initContainer
{{- end }}
{{- end }}
{{- end -}}

{{- define "holdfast.refuse.cluster" -}}
{{- $database := .Values.store.postgres -}}
{{- if and .Values.cloudnativepg.enabled (eq .Values.store.kind "postgres") }}
{{- if $database.hosts }}
store.postgres.hosts: cloudnativepg makes the database and names its host: leave the list empty, or disable cloudnativepg
{{- end }}
{{- if not $database.password.existingSecret }}
store.postgres.password.existingSecret: cloudnativepg gives the serving role the password of this secret, of type kubernetes.io/basic-auth: name it
{{- end }}
{{- if ne (int64 $database.port) 5432 }}
store.postgres.port: cloudnativepg serves on 5432: remove the value
{{- end }}
{{- if hasKey .Values.cloudnativepg.parameters "max_connections" }}
cloudnativepg.parameters.max_connections: follows from store.postgres.maxConnections: set that one
{{- end }}
{{- end }}
{{- end -}}

{{- define "holdfast.refuse.connections" -}}
{{- $database := .Values.store.postgres -}}
{{- if eq .Values.store.kind "postgres" }}
{{- $servers := include "holdfast.mostServers" . | int64 }}
{{- $each := add 2 (int64 $database.connections) }}
{{- if gt (mul $servers $each) (int64 $database.maxConnections) }}
store.postgres.maxConnections: {{ $servers }} servers (the most replicas and one more) with {{ $each }} connections each take {{ mul $servers $each }} of {{ int64 $database.maxConnections }}: lower store.postgres.connections or the replicas, or raise max_connections of the database and this value
{{- end }}
{{- end }}
{{- end -}}

{{- define "holdfast.refuse.memory" -}}
{{- $held := include "holdfast.heldMemory" . | int64 -}}
{{- $resources := include "holdfast.resources" . | fromYaml -}}
{{- $limit := include "holdfast.quantity" $resources.limits.memory | int64 -}}
{{- $request := include "holdfast.quantity" $resources.requests.memory | int64 -}}
{{- if lt $held 912 }}
config.limits.memory_budget: {{ .Values.config.limits.memory_budget }} is less than one request may take: set at least 400MiB
{{- end }}
{{- if lt $limit $held }}
resources.limits.memory: {{ $limit }} MiB is less than memory_budget and 512 MiB ({{ $held }} MiB), and the server would be killed before it sheds load: raise it (twice as much is right where strangers reach the port), or lower config.limits.memory_budget
{{- end }}
{{- if gt $request $limit }}
resources.requests.memory: {{ $request }} MiB is more than the limit of {{ $limit }} MiB: lower it, or raise resources.limits.memory
{{- end }}
{{- end -}}

{{/* What the server refuses: durations with their bounds in seconds, and sizes with their least MiB. */}}
{{- define "holdfast.refuse.times" -}}
{{- $config := .Values.config -}}
{{- $bounds := dict
    "server.drain_timeout" (list 0 3600 "at most 1h")
    "server.connection_max_age" (list 1 604800 "between 1s and 168h")
    "server.connection_idle" (list 1 604800 "between 1s and 168h")
    "limits.watch_progress" (list 1 3600 "between 1s and 1h")
    "limits.watch_write_timeout" (list 1 3600 "between 1s and 1h")
    "limits.stream_idle" (list 1 3600 "between 1s and 1h")
    "limits.stream_write_timeout" (list 1 3600 "between 1s and 1h")
    "recovery.sweep_interval" (list 1 1000000000 "at least 1s")
    "recovery.abandon_after" (list 1 1000000000 "at least 1s")
    "recovery.cancel_grace" (list 1 1000000000 "at least 1s")
    "retention.events" (list 3600 315360000 "between 1h and 87600h") -}}
{{- range $path, $bound := $bounds }}
{{- $parts := splitList "." $path }}
{{- $value := index $config (first $parts) | dig (last $parts) "" }}
{{- if $value }}
{{- $seconds := include "holdfast.seconds" $value | int64 }}
{{- $short := and (hasSuffix "ms" $value) (lt (regexFind "^[0-9]+" $value | int64) 1000) }}
{{- if or (gt $seconds (index $bound 1 | int64)) (lt $seconds (index $bound 0 | int64)) (and $short (eq 1 (index $bound 0 | int))) }}
config.{{ $path }}: {{ $value }} is not what the server takes: set {{ index $bound 2 }}
{{- end }}
{{- end }}
{{- end }}
{{- with $config.limits.staged_bytes }}
{{- if lt (include "holdfast.mebibytes" . | int64) 256 }}
config.limits.staged_bytes: {{ . }} is less than one commit may stream: set at least 256MiB
{{- end }}
{{- end }}
{{- with .Values.store.fs.interval }}
{{- if or (eq (regexFind "^0*" .) (regexFind "^[0-9]+" .)) (gt (include "holdfast.seconds" . | int64) 60) }}
store.fs.interval: {{ . }} is not what the server takes: set between 1ms and 1m
{{- end }}
{{- end }}
{{- if eq .Values.probes.kind "exec" }}
{{- range $name := list "startup" "readiness" "liveness" }}
{{- if lt (int64 (index $.Values.probes $name).timeoutSeconds) 4 }}
probes.{{ $name }}.timeoutSeconds: holdfastd healthcheck waits up to 3 s for an answer: set at least 4
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "holdfast.refuse.availability" -}}
{{- $scaling := .Values.autoscaling -}}
{{- if $scaling.enabled }}
{{- if gt (int64 $scaling.minReplicas) (int64 $scaling.maxReplicas) }}
autoscaling.minReplicas: {{ int64 $scaling.minReplicas }} is more than maxReplicas ({{ int64 $scaling.maxReplicas }}): swap them
{{- end }}
{{- if not (or $scaling.targetCPUUtilizationPercentage $scaling.metrics) }}
autoscaling: nothing is named to scale by: set targetCPUUtilizationPercentage or metrics
{{- end }}
{{- $requests := .Values.resources.requests | default dict }}
{{- if and $scaling.targetCPUUtilizationPercentage (not $requests.cpu) }}
resources.requests.cpu: autoscaling measures processor use against it: set it, or targetCPUUtilizationPercentage to null
{{- end }}
{{- end }}
{{- $budget := .Values.podDisruptionBudget }}
{{- if and (eq .Values.store.kind "postgres") $budget.enabled }}
{{- $least := ternary (int64 $scaling.minReplicas) (include "holdfast.replicas" . | int64) $scaling.enabled }}
{{- if kindIs "invalid" $budget.minAvailable }}
{{- if has (toString $budget.maxUnavailable) (list "0" "0%") }}
podDisruptionBudget.maxUnavailable: 0 keeps every node from being drained: set at least 1
{{- end }}
{{- else if kindIs "string" $budget.minAvailable }}
{{- if eq $budget.minAvailable "100%" }}
podDisruptionBudget.minAvailable: 100% keeps every node from being drained: lower it
{{- end }}
{{- else if ge (int64 $budget.minAvailable) $least }}
podDisruptionBudget.minAvailable: {{ int64 $budget.minAvailable }} of {{ $least }} servers keeps every node from being drained: lower it, or run more servers
{{- end }}
{{- end }}
{{- end -}}

{{- define "holdfast.refuse.reach" -}}
{{- $service := .Values.service -}}
{{- $balancer := eq $service.type "LoadBalancer" -}}
{{- if and $balancer (not $service.loadBalancerSourceRanges) }}
service.loadBalancerSourceRanges: a load balancer would expose a port without TLS and authentication to every address: name those that may call, or set service.type to ClusterIP
{{- end }}
{{- if and $service.loadBalancerSourceRanges (not $balancer) }}
service.loadBalancerSourceRanges: goes with service.type LoadBalancer alone: remove it, and use networkPolicy.callers
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) }}
ingress.host: no host is named, and every host of the controller would be routed here: set it
{{- end }}
{{- if and .Values.grpcRoute.enabled (not .Values.grpcRoute.parentRefs) }}
grpcRoute.parentRefs: no gateway is named: name the one that routes to this service
{{- end }}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.callers) }}
{{- range $what, $wanted := dict "ingress.enabled" .Values.ingress.enabled "grpcRoute.enabled" .Values.grpcRoute.enabled "service.type" $balancer }}
{{- if $wanted }}
networkPolicy.callers: {{ $what }} brings callers from outside the namespace, and the NetworkPolicy keeps them out: name the peers, for example the controller's namespace
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "holdfast.refuse.metrics" -}}
{{- $metrics := .Values.metrics -}}
{{- if and $metrics.enabled (eq (int64 $metrics.port) 7420) }}
metrics.port: 7420 is the port of gRPC: choose another
{{- end }}
{{- if and $metrics.serviceMonitor.enabled $metrics.podMonitor.enabled }}
metrics.podMonitor.enabled: the ServiceMonitor reads the same metrics, and each would count twice: disable one of them
{{- end }}
{{- if and (or $metrics.serviceMonitor.enabled $metrics.podMonitor.enabled) (not $metrics.enabled) }}
metrics.enabled: a monitor finds no metrics: set it to true, or disable the monitor
{{- end }}
{{- if and $metrics.prometheusRule.enabled (not $metrics.enabled) }}
metrics.enabled: the rules find no metrics: set it to true, or disable metrics.prometheusRule
{{- end }}
{{- end -}}

{{- define "holdfast.refuse.extras" -}}
{{- range .Values.extraEnv }}
{{- if has .name (list "HOLDFAST_POSTGRES_DSN" "HOLDFAST_CONFIG") }}
extraEnv: {{ .name }} would replace what the chart writes: remove it, and use store.postgres or config
{{- end }}
{{- end }}
{{- range $values := list "commonLabels" "podLabels" }}
{{- range $label := list "name" "instance" "component" "version" "managed-by" }}
{{- if hasKey (index $.Values $values) (printf "app.kubernetes.io/%s" $label) }}
{{ $values }}: app.kubernetes.io/{{ $label }} is the chart's: use another label, or nameOverride
{{- end }}
{{- end }}
{{- end }}
{{- $own := list "config" "data" "ca" "password" "certificate" "owner-password" "owner-certificate" }}
{{- range .Values.extraVolumes }}
{{- if has .name $own }}
extraVolumes: the name {{ .name }} is taken by a volume of the chart: choose another
{{- end }}
{{- end }}
{{- end -}}
