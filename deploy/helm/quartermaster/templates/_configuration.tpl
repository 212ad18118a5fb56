{{/* What the chart reads out of quartermaster.yaml. */}}

{{- define "quartermaster.replicas" -}}
{{- if kindIs "invalid" .Values.replicas -}}
{{- ternary 1 2 (eq .Values.database.type "sqlite") -}}
{{- else -}}
{{- int .Values.replicas -}}
{{- end -}}
{{- end }}

{{- define "quartermaster.transport" -}}
{{- dig "slack" "transport" "socket" .Values.config -}}
{{- end }}

{{- define "quartermaster.engine" -}}
{{- dig "clusters" .Values.cluster "engine" "kueue" .Values.config -}}
{{- end }}

{{/* The teams that can use this cluster, as a YAML map. */}}
{{- define "quartermaster.teams" -}}
{{- $here := dict -}}
{{- range $name, $team := .Values.config.teams -}}
{{- if has $.Values.cluster (default (list (default "default" $team.cluster)) $team.clusters) -}}
{{- $_ := set $here $name $team -}}
{{- end -}}
{{- end -}}
{{- toYaml $here -}}
{{- end }}

{{/* Their namespaces; teams can share one. */}}
{{- define "quartermaster.namespaces" -}}
{{- $found := list -}}
{{- range include "quartermaster.teams" . | fromYaml -}}
{{- $found = append $found .namespace -}}
{{- end -}}
{{- $found | uniq | sortAlpha | toYaml -}}
{{- end }}

{{/* The namespace of datasets, if they are surveyed or cached in this cluster. */}}
{{- define "quartermaster.datasets" -}}
{{- with .Values.config.datasets -}}
{{- $further := default dict .clusters -}}
{{- if eq (default "default" .cluster) $.Values.cluster -}}{{- .namespace -}}
{{- else if hasKey $further $.Values.cluster -}}
{{- default .namespace (get $further $.Values.cluster).namespace -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Non-empty if runs can have Ingresses. */}}
{{- define "quartermaster.ingresses" -}}
{{- $asked := toString .Values.rights.ingresses -}}
{{- if or (eq $asked "true") (and (eq $asked "auto") (dig "clusters" .Values.cluster "ingress" nil .Values.config)) -}}true{{- end -}}
{{- end }}

{{/* Non-empty if the workers of a run can be in a Deployment. */}}
{{- define "quartermaster.deployments" -}}
{{- $asked := toString .Values.rights.deployments -}}
{{- $allowed := eq $asked "true" -}}
{{- if eq $asked "auto" -}}
{{- range include "quartermaster.teams" . | fromYaml -}}
{{- if has "sync" (dig "admission" "host_network" list .) -}}{{- $allowed = true -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- if $allowed -}}true{{- end -}}
{{- end }}

{{/* Non-empty if teams can be created from Slack. */}}
{{- define "quartermaster.creates-teams" -}}
{{- if kindIs "map" .Values.config.team_creation -}}true{{- end -}}
{{- end }}

{{/* The roles that the bot binds to itself in the namespaces of such teams, as a YAML list. */}}
{{- define "quartermaster.team-roles" -}}
{{- $fullname := include "quartermaster.fullname" . -}}
{{- $roles := list (printf "%s-team" $fullname) -}}
{{- if .Values.rights.trident -}}{{- $roles = append $roles (printf "%s-trident" $fullname) -}}{{- end -}}
{{- $roles | toYaml -}}
{{- end }}

{{/* The file, with what the chart adds. */}}
{{- define "quartermaster.file" -}}
{{- $own := dict "http" (dict "listen" "0.0.0.0:8080" "ops_listen" "0.0.0.0:8081") -}}
{{- if eq .Values.database.type "sqlite" -}}
{{- $_ := set $own "database" (dict "url" "sqlite:////var/lib/quartermaster/quartermaster.db") -}}
{{- end -}}
{{- if .Values.config.datasets -}}
{{- $_ := set $own "datasets" (dict "image" (include "quartermaster.image" .)) -}}
{{- end -}}
{{- if include "quartermaster.creates-teams" . -}}
{{- $_ := set $own "team_creation" (dict "roles" (include "quartermaster.team-roles" . | fromYamlArray)) -}}
{{- end -}}
{{- mergeOverwrite $own (deepCopy .Values.config) | toYaml -}}
{{- end }}
